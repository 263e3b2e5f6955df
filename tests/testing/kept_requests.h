#pragma once

#include <string>
#include <vector>

#include "services/common/kept_request.h"

namespace muster::testing {

// Answers that a store has to give back unchanged: with every byte, with times before and after the
// epoch to the microsecond, a refusal, one whose id is also the key of a row of another kind
// (`key`), and one with the id "gone".
inline std::vector<KeptRequest> OddKeptRequests(const std::string& key) {
  std::string bytes;
  for (int c = 255; c >= 0; --c) bytes.push_back(static_cast<char>(c));
  const absl::Time time = absl::FromUnixMicros(1'760'000'000'123'457);
  return {{key, "muster.Request", std::string(64, 'a'), 0, bytes, time},
          {std::string(64, '~'), "muster.Request", std::string(64, 'b'), 9, "", absl::UnixEpoch()},
          {"\"{}\\',NULL", "muster.Request", std::string(64, 'c'), 0, "",
           absl::UnixEpoch() - absl::Microseconds(1)},
          {"gone", "muster.Request", std::string(64, 'd'), 0, "x", time}};
}

}  // namespace muster::testing
