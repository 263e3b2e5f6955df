#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"

namespace muster::kubernetes {

// Which failures of one thing that is tried again and again, or of many that fail at once, are told: the
// first, then one a minute. Not thread-safe.
class RepeatedFailure {
 public:
  static constexpr absl::Duration kTellAgain = absl::Minutes(1);

  // It has failed, at `now` of a steady clock. nullopt: it is not to be told. Else how many failures
  // were not told since the last one that was.
  std::optional<int64_t> Tell(absl::Duration now) {
    if (now - told_ < kTellAgain) {
      ++untold_;
      return std::nullopt;
    }
    told_ = now;
    return std::exchange(untold_, 0);
  }

 private:
  absl::Duration told_ = -absl::InfiniteDuration();
  int64_t untold_ = 0;
};

}  // namespace muster::kubernetes
