#pragma once

#include "services/lifecycle/core/state.h"
#include "storage/postgres/lane.h"

namespace muster::lifecycle {

using Lane = storage::CommitLane<State>;

}  // namespace muster::lifecycle
