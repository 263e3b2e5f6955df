#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/state.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {

// Uses up the first `nodes` of the places that the claim takes at its turn (queue.h). Places of
// other claims of its organization are first exchanged for as many of its own youngest. Returns the
// times of the places, one a Node, for Hold. Does not put `claim`; leaves its places spelt
// (parts.h).
std::vector<absl::Time> Spend(StagedState<State>& staged, ClaimRow& claim,
                              const std::vector<PlaceUse>& turn, int64_t nodes);

// The same with the claim's own places: first those of the part's time, then the oldest.
std::vector<absl::Time> SpendOwn(ClaimRow& claim, absl::Time part, int64_t nodes);

// Grants the free machine `id` to the claim, for its part of the time `part`, which must exist.
// `place`: one of the times that Spend returned. Does not put `claim`.
void Hold(StagedState<State>& staged, const std::string& id, ClaimRow& claim, absl::Time part,
          absl::Time place, absl::Time now);

}  // namespace muster::capacity
