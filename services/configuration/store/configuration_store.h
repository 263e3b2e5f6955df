#pragma once

#include <memory>

#include "services/configuration/core/state.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// The tables of migrations/configuration.
std::unique_ptr<const Store<configuration::State>> NewConfigurationStore();

}  // namespace muster::storage
