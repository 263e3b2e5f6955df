#pragma once

#include "absl/strings/string_view.h"
#include "services/capacity/core/state.h"
#include "services/common/place.h"

namespace muster::capacity {

// Where a zone (by its name, or by its id alone), a machine or a claim is. A machine belongs to no
// organization, whoever holds it.
Place PlaceOf(const State& state, absl::string_view name);

}  // namespace muster::capacity
