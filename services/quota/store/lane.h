#pragma once

#include "services/quota/core/state.h"
#include "storage/postgres/lane.h"

namespace muster::quota {

using Lane = storage::CommitLane<State>;

}  // namespace muster::quota
