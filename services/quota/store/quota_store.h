#pragma once

#include <memory>

#include "services/quota/core/state.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// The tables of migrations/quota.
std::unique_ptr<const Store<quota::State>> NewQuotaStore();

}  // namespace muster::storage
