#include "services/lifecycle/core/plan.h"

#include "services/lifecycle/core/plan_draft.h"
#include "services/lifecycle/core/plan_parts.h"

namespace muster::lifecycle {
namespace {

// Reads "released" as an empty answer: a service that has released a pool has nothing of it any
// more, which is what a pool that is being deleted waits for.
template <class T>
void TakeAsEmpty(PeerReply<T>& answer) {
  if (answer.released()) answer = {.state = PeerReply<T>::State::kHere};
}

bool AnyAway(const PeerReplies& answers) {
  const auto ask_again = [](const auto& answer) { return answer.away() && !answer.released(); };
  return ask_again(answers.holding) || ask_again(answers.claim) || ask_again(answers.configuration);
}

// Gives Nodes up, all against one limit: those that capacity contradicts, then late boots, then
// unhealthy ones. Boots that a rollback ends have not failed, so they end before any times out.
BootTimeouts GiveUpNodes(const PlanFacts& facts, Draft& draft) {
  LateNodes late;
  late.unheld = LeaveUnheld(facts, draft);
  AbortBrokenBoots(facts, draft);
  const BootTimeouts timeouts = TimeOutBoots(facts, draft);
  late.boots = timeouts.late;
  late.repairs = ReplaceUnhealthy(facts, draft);
  DeferGivingUp(facts, draft, late);
  return timeouts;
}

PoolPlan PlanOf(const Snapshot& snapshot, bool look_at_all,
                std::vector<const Node*>* only_counted) {
  const PlanFacts facts(snapshot);
  Draft draft(facts, look_at_all);

  RaiseGenerations(facts, draft);
  if (FinishDeletion(facts, draft)) return draft.TakePlan();

  // Who is here. Nodes whose machine went back are dropped; then preemptions begin, which make room
  // for the machines that come.
  PurgeReturned(facts, draft);
  PreemptNodes(facts, draft);
  AssignGranted(facts, draft);
  MoveRacks(facts, draft);
  RenewGrants(facts, draft);

  // Who is given up.
  const BootTimeouts timeouts = GiveUpNodes(facts, draft);

  // Who goes. Those that must were taken above and do not count any more; those that were to go and
  // may stay after all are let go before new ones are chosen. Drains see all that were cordoned.
  ReserveNodes(facts, draft);
  CancelRemovals(facts, draft);
  StartRemovals(facts, draft);
  // Orders to single Nodes, if they stay; before DrainNodes, so that a forced drain is forced at
  // once.
  FollowOrders(facts, draft);
  DrainNodes(facts, draft);

  // What the Nodes that stay boot, within what removals have left of the budget.
  StageProfiles(facts, draft);
  RebootOutdated(facts, draft, timeouts.reboots);
  OrderBoots(facts, draft);
  RefreshAllMetadata(facts, draft);

  // What is kept and shown of all that.
  AnnounceOrders(facts, draft);
  UpdateAccount(facts, draft);
  Publish(facts, draft);
  if (AnyAway(facts.answers)) draft.MoveDue(facts.now + facts.policy.retry);
  if (only_counted != nullptr) *only_counted = draft.OnlyCounted();
  return draft.TakePlan();
}

PoolPlan PlanSettled(const Snapshot& snapshot, bool look_at_all,
                     std::vector<const Node*>* only_counted) {
  const PeerReplies& answers = snapshot.answers;
  const bool released = answers.holding.released() || answers.claim.released();
  if (!released || !snapshot.pool->deleting()) return PlanOf(snapshot, look_at_all, only_counted);
  Snapshot settled = snapshot;
  TakeAsEmpty(settled.answers.holding);
  TakeAsEmpty(settled.answers.claim);
  return PlanOf(settled, look_at_all, only_counted);
}

}  // namespace

PoolPlan Plan(const Snapshot& snapshot, std::vector<const Node*>* only_counted) {
  if (only_counted != nullptr) only_counted->clear();
  return PlanSettled(snapshot, /*look_at_all=*/false, only_counted);
}

PoolPlan PlanLookingAtAll(const Snapshot& snapshot) {
  return PlanSettled(snapshot, /*look_at_all=*/true, nullptr);
}

}  // namespace muster::lifecycle
