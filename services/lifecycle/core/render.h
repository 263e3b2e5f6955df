#pragma once

#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/planned_state.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// The status of a pool: counters, configuration, conditions with their messages.
namespace muster::lifecycle {

// Pure. Equal to the pool's status when nothing changed.
Status RenderStatus(const Snapshot& snapshot, const Demand& demand, const PlannedState& planned);

}  // namespace muster::lifecycle
