#pragma once

#include <memory>

#include "services/capacity/core/state.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// The tables of migrations/capacity.
std::unique_ptr<const Store<capacity::State>> NewCapacityStore();

}  // namespace muster::storage
