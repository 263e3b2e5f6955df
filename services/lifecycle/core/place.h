#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "services/common/place.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

// Of a cluster and all that is in it.
inline Place PlaceOf(const State& state, absl::string_view name) {
  const Cluster* cluster = state.table<Cluster>().Find(ClusterNameOf(name));
  return {.name = std::string(name), .zone = cluster == nullptr ? "" : cluster->zone};
}

}  // namespace muster::lifecycle
