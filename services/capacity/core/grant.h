#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// Gives machines to a claim, each for its oldest outstanding part: there must be as many. They must
// be free, or being reclaimed and given back now. `claim` is not put.
void Hold(Overlay<State>& overlay, const std::vector<std::string>& ids, ClaimRow& claim,
          absl::Time now);

}  // namespace muster::capacity
