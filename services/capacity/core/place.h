#pragma once

#include "absl/strings/string_view.h"
#include "services/capacity/core/state.h"
#include "services/common/place.h"

namespace muster::capacity {

// Of a zone (its name, or its id alone), a machine or a claim. Machines are the platform's, whoever holds them.
Place PlaceOf(const State& state, absl::string_view name);

}  // namespace muster::capacity
