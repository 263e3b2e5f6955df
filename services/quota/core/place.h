#pragma once

#include "absl/strings/string_view.h"
#include "services/common/place.h"
#include "services/quota/core/state.h"

namespace muster::quota {

// Where an organization, a Quota or a Holding is: its name alone says it.
Place PlaceOf(absl::string_view name);
inline Place PlaceOf(const State&, absl::string_view name) { return PlaceOf(name); }

}  // namespace muster::quota
