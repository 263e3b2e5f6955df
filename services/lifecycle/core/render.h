#pragma once

#include <string>
#include <vector>

#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// The status of a pool: counters, configuration, conditions with the messages of semantics 3.
namespace muster::lifecycle {

// What Plan knows once it has decided, beside the snapshot.
struct PlannedState {
  std::vector<const Node*> nodes = {};  // as they will be
  PoolAccount account = {};             // as it will be
  CatalogueCheck catalogue_check = {};
  std::optional<Reconfiguration> reconfiguration = {};  // as it will be
};

// How many Nodes are in the cluster, on their way into it, and there to stay.
struct NodeCounts {
  int64_t present = 0;
  int64_t in_progress = 0;
  int64_t in_service = 0;
};
NodeCounts Count(const std::vector<const Node*>& nodes);

// Pure. Equal to the pool's status when nothing changed.
Status RenderStatus(const Snapshot& snapshot, const Demand& demand, const PlannedState& planned);

}  // namespace muster::lifecycle
