// What happens when a service refuses a request as older than one that it knows, although the rows
// know no later one: they were restored to a past, or somebody else asked in the pool's name. The
// pool's generations then go on above what the service knows. Nothing else follows: the next
// request is answered with what the service holds for the pool. A refusal of a request older than
// the rows does nothing, and the plan's version and epoch keep a former leader from raising
// anything.
#include <algorithm>

#include "services/common/error_reasons.h"
#include "services/lifecycle/core/plan_parts.h"

namespace muster::lifecycle {
namespace {

// The newest generation that the service knows, if that is why it refused; else 0.
template <class T>
int64_t NewestKnown(const PeerReply<T>& answer) {
  return answer.refused(muster::error::kGenerationTooOld) ? answer.last_generation : 0;
}

// What to go on with; 0: nothing to do.
int64_t Above(int64_t known, int64_t own) {
  return known > own && known <= kMaxGeneration ? known + 1 : 0;
}

}  // namespace

void RaiseGenerations(const PlanFacts& facts, Draft& draft) {
  const int64_t known =
      std::max(NewestKnown(facts.answers.holding), NewestKnown(facts.answers.claim));
  int64_t account = Above(known, facts.pool.account.generation);
  // Asked before under the very same generation, otherwise: by a future that is lost.
  if (facts.answers.claim.refused(muster::error::kGenerationReused))
    account = std::max(account, facts.pool.account.generation + 1);
  const RaiseGeneration action{
      account, Above(NewestKnown(facts.answers.configuration), facts.pool.generation),
      "a service knows later requests than the pool"};
  if (action.account > 0 || action.pool > 0) draft.AddAction(action);
}

}  // namespace muster::lifecycle
