#pragma once

#include "services/configuration/core/state.h"
#include "storage/postgres/lane.h"

namespace muster::configuration {

using Lane = storage::CommitLane<State>;

}  // namespace muster::configuration
