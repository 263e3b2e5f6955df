#pragma once

#include <optional>
#include <vector>

#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/quiet_nodes.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// What Plan knows once it has decided, beside the snapshot. The Nodes must outlive it.
struct PlannedState {
  std::vector<const Node*> nodes = {};  // those that are not quiet, as they will be
  PoolAccount account = {};             // as it will be
  CatalogueCheck catalogue_check = {};
  std::optional<Reconfiguration> reconfiguration = {};  // as it will be
  QuietNodes quiet = {};
};

}  // namespace muster::lifecycle
