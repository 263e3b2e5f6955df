#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/state.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {

// Uses up the first `nodes` of the places at the claim's turn (queue.h): its own ones, else those
// of others of its organization, which get as many of its youngest ones for them. Returns their
// times, one a Node, for Hold. `claim` is not put; its places are spelt afterwards (parts.h).
std::vector<absl::Time> Spend(StagedState<State>& staged, ClaimRow& claim,
                              const std::vector<PlaceUse>& turn, int64_t nodes);

// The same with places of its own: those of the part, then its oldest.
std::vector<absl::Time> SpendOwn(ClaimRow& claim, absl::Time part, int64_t nodes);

// Gives a free machine to a claim for its part of that time, which must have one. `claim` is not
// put. `place`: what Spend told.
void Hold(StagedState<State>& staged, const std::string& id, ClaimRow& claim, absl::Time part,
          absl::Time place, absl::Time now);

}  // namespace muster::capacity
