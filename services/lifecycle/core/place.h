#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "services/common/place.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

// Where the resource of this name, a cluster or something in one, is: its name and the cluster's
// zone.
inline Place PlaceOf(const State& state, absl::string_view name) {
  const Cluster* cluster = state.table<Cluster>().Find(ClusterNameOf(name));
  return {.name = std::string(name), .zone = cluster == nullptr ? "" : cluster->zone};
}

}  // namespace muster::lifecycle
