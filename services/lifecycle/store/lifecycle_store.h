#pragma once

#include <memory>

#include "services/lifecycle/core/state.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// The tables of migrations/lifecycle.
std::unique_ptr<const Store<lifecycle::State>> NewLifecycleStore();

}  // namespace muster::storage
