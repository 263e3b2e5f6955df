#pragma once

#include "absl/strings/string_view.h"
#include "services/common/place.h"
#include "services/configuration/core/state.h"

namespace muster::configuration {

// Where the pool of the PoolConfiguration of this name is; all else is nowhere.
inline Place PlaceOf(const State& state, absl::string_view name) {
  const PoolConfiguration* row = state.table<PoolConfiguration>().Find(name);
  return row == nullptr ? Place() : Place{.name = row->pool};
}

}  // namespace muster::configuration
