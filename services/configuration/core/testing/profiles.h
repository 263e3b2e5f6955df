#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/configuration/core/state.h"

// For tests of one pool's configuration: profiles that are nothing but a name, and two moments.
namespace muster::configuration {

inline const absl::Time kOld = absl::FromUnixSeconds(1'000);
inline const absl::Time kNow = absl::FromUnixSeconds(2'000);

inline NodeProfile Named(absl::string_view id) {
  return {.id = std::string(id), .image = std::string(id)};
}
// As the state would hold them.
inline Table<NodeProfile> AllNamed(const std::vector<std::string>& ids) {
  Table<NodeProfile> table;
  for (const std::string& id : ids) {
    const NodeProfile profile = Named(id);
    const std::string key = profile.Key();
    (void)table.Set(table.PlaceOf(key), key, std::make_shared<const NodeProfile>(profile), 1);
  }
  return table;
}

}  // namespace muster::configuration
