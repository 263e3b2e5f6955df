#pragma once

#include "services/capacity/core/state.h"
#include "storage/postgres/lane.h"

namespace muster::capacity {

using Lane = storage::CommitLane<State>;

}  // namespace muster::capacity
