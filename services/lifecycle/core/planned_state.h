#pragma once

#include <optional>
#include <vector>

#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/quiet_nodes.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// What Plan knows once it has decided, beside the snapshot.
struct PlannedState {
  std::vector<const Node*> nodes = {};  // as they will be; those that are not quiet
  PoolAccount account = {};             // as it will be
  CatalogueCheck catalogue_check = {};
  std::optional<Reconfiguration> reconfiguration = {};  // as it will be
  QuietNodes quiet = {};
};

}  // namespace muster::lifecycle
