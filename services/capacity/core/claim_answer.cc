#include "services/capacity/core/claim_answer.h"

#include <utility>

#include "services/capacity/core/parts.h"

namespace muster::capacity {

ClaimAnswer AnswerOf(const State& state, ClaimView view, absl::Time now) {
  ClaimAnswer answer{std::move(view)};
  const ClaimRow& claim = answer.view.claim;
  const Depot* depot = state.FindDepot({claim.zone, claim.instance_type});
  // Who cannot be served as things are has nothing to wait for.
  if (depot == nullptr || !answer.view.queue || answer.view.reason != ClaimReason::kQueued)
    return answer;
  answer.wait = EstimateWait(depot->GrantsSince(now - kWaitWindow),
                             answer.view.queue->nodes_ahead + Outstanding(claim.parts));
  return answer;
}

}  // namespace muster::capacity
