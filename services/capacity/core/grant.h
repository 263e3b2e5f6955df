#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// Gives free machines to a claim for its part of that time, which must have as many. `claim` is not
// put.
void Hold(Overlay<State>& overlay, const std::vector<std::string>& ids, ClaimRow& claim,
          absl::Time part, absl::Time now);

}  // namespace muster::capacity
