#include "services/lifecycle/core/render.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/grantable.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/removals.h"
#include "services/lifecycle/core/render_parts.h"
#include "services/lifecycle/core/summary.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {

std::string ShareText(int64_t part, int64_t whole) {
  return absl::StrCat(part, " of ", CountText(whole, "Node"));
}

NodeCounts CountNodes(const PlannedState& planned) {
  NodeCounts counts{planned.quiet.present(), planned.quiet.in_progress(),
                    planned.quiet.in_service(), planned.quiet.in_production()};
  for (const Node* node : planned.nodes) {
    counts.present += IsPresent(*node) ? 1 : 0;
    counts.in_progress += IsInProgress(node->state) ? 1 : 0;
    counts.in_service += IsInService(node->state) ? 1 : 0;
    counts.in_production += node->state == NodeState::kProduction ? 1 : 0;
  }
  return counts;
}

std::string TooFewText(const CatalogueFacts& catalogue) {
  const bool racks = catalogue.nodes_per_rack() > 0;
  return absl::StrCat(", too few for ", racks ? "the whole racks that are asked for" : "the gang");
}

HoldingFacts::Verdict VerdictOfTarget(const Pool& pool, const HoldingFacts& holding) {
  const int64_t room = holding.limit - (holding.held - holding.nodes);
  // What is held beside the target comes early, or is on its way out.
  const bool beside = pool.account.prefill_nodes > 0 || holding.nodes > pool.target_nodes();
  const bool fits = !pool.deleting() && beside && pool.target_nodes() <= room;
  const bool over = holding.verdict == HoldingFacts::Verdict::kOver;
  return over && fits ? HoldingFacts::Verdict::kUnder : holding.verdict;
}

namespace {

// Adds the condition as it was, of the generation that it was said of; none if it was not there.
void Keep(std::vector<Condition>& out, const Snapshot& snapshot, absl::string_view type) {
  const Condition* before = FindCondition(snapshot.pool->status.conditions, type);
  if (before != nullptr) out.push_back(*before);
}

void RenderValidated(std::vector<Condition>& out, const CatalogueCheck& catalogue_check) {
  switch (catalogue_check.validity) {
    case Validity::kValid:
      out.push_back({condition::kValidated, condition_status::kTrue, reason::kValid,
                     "NodePool configuration is valid."});
      return;
    case Validity::kInvalid:
      out.push_back({.type = condition::kValidated,
                     .status = condition_status::kFalse,
                     .reason = reason::kInvalid,
                     .message = catalogue_check.message,
                     .event_reason =
                         catalogue_check.event ? std::string(TextOf(*catalogue_check.event)) : ""});
      return;
    case Validity::kUnknown:
      out.push_back({condition::kValidated, condition_status::kUnknown, reason::kInternalError,
                     "The catalog could not be read."});
      return;
  }
}

// `8 machines of T in zone Z are in service`.
std::string InServiceText(const ClaimFacts& claim, absl::string_view where) {
  return absl::StrCat(CountText(claim.in_service, "machine"), " of ", where,
                      claim.in_service == 1 ? " is" : " are", " in service");
}

// There may be machines in service, but too few for the gang or not a whole rack of them.
std::string NoneAvailableText(const Snapshot& snapshot, const ClaimFacts& claim,
                              absl::string_view where) {
  if (claim.in_service == 0) return absl::StrCat("No machine of ", where, " is in service.");
  return absl::StrCat("No Node granted: ", InServiceText(claim, where),
                      TooFewText(snapshot.catalogue), ".");
}

// The end of a message: "only MACHINES." if fewer are there than are asked for, else MACHINES and
// why they do not suffice. `machines`: those that are there, in words.
std::string ShortText(const Snapshot& snapshot, int64_t there, int64_t asked,
                      absl::string_view machines) {
  const bool fewer = there < asked;
  return absl::StrCat(fewer ? "only " : "", machines, fewer ? "" : TooFewText(snapshot.catalogue),
                      ".");
}

// There may be machines that match, but too few for the gang or not a whole rack of them.
std::string AffinityText(const Snapshot& snapshot, const ClaimFacts& claim, int64_t asked,
                         absl::string_view where) {
  const std::string all =
      absl::StrCat(CountText(claim.in_service, "machine"), " of ", where, " in service");
  if (claim.matching == 0) return absl::StrCat("None of ", all, " matches the node affinity.");
  const auto held = static_cast<int64_t>(claim.machines.size());
  return absl::StrCat(
      held > 0 ? ShareText(held, asked) : "No Node", " granted: ",
      ShortText(snapshot, claim.matching, asked,
                absl::StrCat(claim.matching, " of ", all, " match the node affinity")));
}

Condition CapacityOf(const Snapshot& snapshot, const ClaimFacts& claim, const ClaimAsk& ask) {
  const Pool& pool = *snapshot.pool;
  const std::string where = absl::StrCat(pool.spec.instance_type, " in zone ", pool.zone);
  const auto held = static_cast<int64_t>(claim.machines.size());
  switch (claim.reason) {
    case ClaimFacts::Reason::kSufficient:
      break;
    case ClaimFacts::Reason::kQueued:
      return {condition::kCapacity, condition_status::kFalse, reason::kQueuedAwaitingCapacity,
              absl::StrCat(ShareText(claim.outstanding, ask.nodes),
                           " queued, awaiting capacity of ", where, ".")};
    case ClaimFacts::Reason::kPartial:
      return {condition::kCapacity, condition_status::kFalse, reason::kPartial,
              absl::StrCat(
                  ShareText(held, ask.nodes), " granted: ",
                  ShortText(snapshot, claim.in_service, ask.nodes, InServiceText(claim, where)))};
    case ClaimFacts::Reason::kNoneAvailable:
      return {condition::kCapacity, condition_status::kFalse, reason::kNoneAvailable,
              NoneAvailableText(snapshot, claim, where)};
    case ClaimFacts::Reason::kPartialNodeAffinity:
      return {condition::kCapacity, condition_status::kFalse, reason::kPartialNodeAffinity,
              AffinityText(snapshot, claim, ask.nodes, where)};
    case ClaimFacts::Reason::kNoneAvailableNodeAffinity:
      return {condition::kCapacity, condition_status::kFalse, reason::kNoneAvailableNodeAffinity,
              AffinityText(snapshot, claim, ask.nodes, where)};
  }
  return {condition::kCapacity, condition_status::kTrue, reason::kSufficient,
          "Sufficient capacity available for the requested instance type."};
}

// The Capacity condition of an invalid pool, which asks for no more than it has.
Condition CapacityOfInvalid(const Pool& pool, const PlannedState& planned) {
  const int64_t target = pool.target_nodes();
  const int64_t held = planned.quiet.size() +
                       std::count_if(planned.nodes.begin(), planned.nodes.end(),
                                     [](const Node* node) { return !IsReturnable(node->state); });
  if (held >= target) return CapacityOf({.pool = &pool}, {}, {});
  return {condition::kCapacity, condition_status::kFalse,
          held > 0 ? reason::kPartial : reason::kNoneAvailable,
          absl::StrCat(ShareText(held, target),
                       " granted: no more are asked for while the NodePool is invalid.")};
}

// How many Nodes the next request will ask for beyond what capacity has answered: the pool has only
// just grown, or the last request gave machines back and asked for less (demand.cc).
int64_t CountUnjudged(const Snapshot& snapshot, const PlannedState& planned) {
  const Pool& pool = *snapshot.pool;
  if (pool.deleting()) return 0;
  const PeerReply<ClaimFacts>& claim = snapshot.answers.claim;
  const auto held = static_cast<int64_t>(claim.value.machines.size());
  const int64_t judged =
      claim.here() ? std::max(claim.value.nodes, held) : pool.account.requested_nodes;
  const PoolAccount& account = planned.account;
  const int64_t next =
      std::min(pool.target_nodes() + account.prefill_nodes - account.deferred_nodes,
               account.requested_nodes);
  return std::max<int64_t>(0, next - judged);
}

void RenderCapacity(std::vector<Condition>& out, const Snapshot& snapshot, const Demand& demand,
                    const PlannedState& planned) {
  const PeerReply<ClaimFacts>& claim = snapshot.answers.claim;
  if (claim.away()) {
    out.push_back({condition::kCapacity, condition_status::kUnknown, reason::kInternalError,
                   claim.released() ? ReleasedText("capacity") : "Capacity could not be checked."});
    return;
  }
  if (UnmetAffinity(*snapshot.pool, claim)) {
    ClaimFacts none = claim.value;
    none.reason = ClaimFacts::Reason::kNoneAvailableNodeAffinity;
    out.push_back(CapacityOf(snapshot, none, demand.claim.value_or(ClaimAsk{})));
    return;
  }
  if (planned.catalogue_check.validity == Validity::kInvalid && !snapshot.pool->deleting()) {
    out.push_back(CapacityOfInvalid(*snapshot.pool, planned));
    return;
  }
  const bool unjudged = planned.catalogue_check.validity != Validity::kValid && !claim.here();
  if (unjudged || CountUnjudged(snapshot, planned) > 0) {
    Keep(out, snapshot, condition::kCapacity);
    return;
  }
  out.push_back(CapacityOf(snapshot, claim.value, demand.claim.value_or(ClaimAsk{})));
}

void RenderQuota(std::vector<Condition>& out, const Snapshot& snapshot) {
  const PeerReply<HoldingFacts>& holding = snapshot.answers.holding;
  const Pool& pool = *snapshot.pool;
  if (holding.away()) {
    out.push_back({condition::kQuota, condition_status::kUnknown, reason::kInternalError,
                   holding.released() ? ReleasedText("quota") : "Quota could not be checked."});
    return;
  }
  if (!holding.here()) {
    Keep(out, snapshot, condition::kQuota);
    return;
  }
  switch (VerdictOfTarget(pool, holding.value)) {
    case HoldingFacts::Verdict::kUnder:
      out.push_back({condition::kQuota, condition_status::kTrue, reason::kUnder,
                     "NodePool is within instance type quota."});
      return;
    case HoldingFacts::Verdict::kOver:
      out.push_back({condition::kQuota, condition_status::kFalse, reason::kOver,
                     absl::StrCat("NodePool targetNodes pushes you over quota for ",
                                  pool.spec.instance_type, " in ", pool.zone, ".")});
      return;
    case HoldingFacts::Verdict::kNotSet:
      out.push_back({condition::kQuota, condition_status::kFalse, reason::kNotSet,
                     absl::StrCat("Quota not found for instance type ", pool.spec.instance_type,
                                  " in zone ", pool.zone, ".")});
      return;
  }
}

// Machines of Nodes that the pool's claim does not hold: capacity and the rows contradict each
// other.
std::vector<std::string> NotHeld(const Snapshot& snapshot, const PlannedState& planned) {
  std::vector<std::string> out;
  for (const Node* node : planned.nodes) {
    if (IsUnheld(*snapshot.pool, *node, snapshot.answers.claim)) out.push_back(node->machine);
  }
  return out;
}

// " (2 preempted, gone by 2026-...)".
std::string PreemptedText(const PlannedState& planned, const Policy& policy) {
  int64_t preempted = 0;
  absl::Time last = absl::InfinitePast();
  for (const Node* node : planned.nodes) {
    if (node->preempt_time == kNever || !IsPresent(*node)) continue;
    ++preempted;
    last = std::max(last, node->preempt_time + policy.preemption_end);
  }
  if (preempted == 0) return "";
  return absl::StrCat(" (", preempted, " preempted, gone by ", TimeText(last), ")");
}

// Machines of Nodes in service that the cluster autoscaler has chosen to leave: no work comes
// there.
std::vector<std::string> Marked(const PlannedState& planned) {
  std::vector<std::string> out;
  for (const Node* node : planned.nodes) {
    if (IsInService(node->state) && node->observed.autoscaler_marked) out.push_back(node->machine);
  }
  return out;
}

// "2 of 3 Nodes present, 1 unhealthy (g100)."; "1 of 4 Nodes in service, 3 leaving."
std::string PresenceText(const PlannedState& planned, const NodeCounts& counts, int64_t target,
                         const Policy& policy) {
  std::vector<std::string> unhealthy;
  for (const Node* node : planned.nodes) {
    if (node->state == NodeState::kTriage) unhealthy.push_back(node->machine);
  }
  const int64_t leaving = counts.present - counts.in_service;
  std::string text =
      absl::StrCat(ShareText(counts.in_service, target), leaving > 0 ? " in service" : " present");
  if (leaving > 0)
    absl::StrAppend(&text, ", ", leaving, " leaving", PreemptedText(planned, policy));
  if (!unhealthy.empty())
    absl::StrAppend(&text, ", ", unhealthy.size(), " unhealthy (", ListText(unhealthy), ")");
  if (const std::vector<std::string> marked = Marked(planned); !marked.empty()) {
    absl::StrAppend(&text, ", ", marked.size(), " marked for removal by the cluster autoscaler (",
                    ListText(marked), ")");
  }
  return absl::StrCat(text, ".");
}

bool AnyUnhealthy(const PlannedState& planned) {
  return std::any_of(planned.nodes.begin(), planned.nodes.end(),
                     [](const Node* node) { return node->state == NodeState::kTriage; });
}

void RenderAtTarget(std::vector<Condition>& out, const Snapshot& snapshot,
                    const PlannedState& planned, const NodeCounts& counts) {
  const Pool& pool = *snapshot.pool;
  const int64_t target = pool.spec.target_nodes;
  const std::vector<std::string> lost = NotHeld(snapshot, planned);
  if (pool.deleting()) {
    out.push_back({condition::kAtTarget, condition_status::kFalse, reason::kPendingDelete,
                   "NodePool is being deleted."});
  } else if (!lost.empty()) {
    out.push_back({condition::kAtTarget, condition_status::kUnknown, reason::kInternalError,
                   absl::StrCat("Nodes could not be read: capacity does not know machine ",
                                ListText(lost), " as the NodePool's.")});
  } else if (MayHaveUnheld(pool, snapshot.answers.claim)) {
    Keep(out, snapshot, condition::kAtTarget);  // LeaveUnheld counts from its transition time
  } else if (counts.present > target) {
    out.push_back(
        {condition::kAtTarget, condition_status::kFalse, reason::kOverTarget,
         absl::StrCat("NodePool has ", CountText(counts.present, "Node"), ", ",
                      counts.present - target, " more than its target of ", target, ".")});
  } else if (counts.in_service < target || !Marked(planned).empty()) {
    out.push_back({condition::kAtTarget, condition_status::kFalse, reason::kUnderTarget,
                   PresenceText(planned, counts, target, snapshot.policy)});
  } else {
    out.push_back({condition::kAtTarget, condition_status::kTrue, reason::kTargetMet,
                   AnyUnhealthy(planned) ? PresenceText(planned, counts, target, snapshot.policy)
                                         : "NodePool has reached its target node count."});
  }
}

void RenderNodesRemoved(std::vector<Condition>& out, const Snapshot& snapshot,
                        const PlannedState& planned) {
  if (!snapshot.pool->deleting()) return;
  const int64_t left = std::ssize(planned.nodes) + planned.quiet.size();
  std::vector<std::string> failed;
  for (const Node* node : planned.nodes) {
    if (node->observed.removal_error.empty()) continue;
    failed.push_back(absl::StrCat(node->machine, " (", node->observed.removal_error.get(), ")"));
  }
  if (!failed.empty()) {
    out.push_back({condition::kNodesRemoved, condition_status::kUnknown, reason::kInternalError,
                   absl::StrCat("Node ", ListText(failed), " could not be removed.")});
  } else if (left == 0 && planned.account.requested_nodes == 0 &&
             planned.account.granted_nodes == 0 && snapshot.answers.claim.here()) {
    out.push_back({condition::kNodesRemoved, condition_status::kTrue, reason::kComplete,
                   "All Nodes have been removed."});
  } else {
    out.push_back(
        {condition::kNodesRemoved, condition_status::kFalse, reason::kPending,
         absl::StrCat(left, left == 1 ? " Node is" : " Nodes are", " still to be removed.")});
  }
}

}  // namespace

Status RenderStatus(const Snapshot& snapshot, const Demand& demand, const PlannedState& planned) {
  const Pool& pool = *snapshot.pool;
  const NodeCounts counts = CountNodes(planned);
  Status status = pool.status;
  RenderConfiguration(status, snapshot, planned);
  status.current_nodes = counts.present;
  status.in_progress = counts.in_progress;
  if (!snapshot.answers.claim.away()) {
    status.queued_nodes =
        (snapshot.answers.claim.here() ? snapshot.answers.claim.value.outstanding : 0) +
        CountUnjudged(snapshot, planned);
  }
  if (planned.catalogue_check.validity == Validity::kValid && !pool.deleting()) {
    const PeerReply<HoldingFacts>& holding = snapshot.answers.holding;
    const int64_t covered = holding.here() ? holding.value.nodes : planned.account.granted_nodes;
    // Nodes that are not asked of capacity yet, because nothing may boot, count as queued, too.
    status.queued_nodes = std::max(status.queued_nodes, std::min(pool.target_nodes(), covered) -
                                                            counts.present - counts.in_progress);
  }
  const bool invalid = planned.catalogue_check.validity == Validity::kInvalid;
  status.grantable = invalid ? std::nullopt : GrantableOf(snapshot);
  std::vector<Condition> wanted;
  RenderValidated(wanted, planned.catalogue_check);
  RenderCapacity(wanted, snapshot, demand, planned);
  RenderQuota(wanted, snapshot);
  RenderAtTarget(wanted, snapshot, planned, counts);
  RenderReconfiguration(wanted, snapshot, planned, status.node_profile);
  RenderNodesRemoved(wanted, snapshot, planned);
  RenderMaxNodes(wanted, pool.spec, status.grantable);
  SetConditions(status.conditions, std::move(wanted), pool.generation, snapshot.now);
  Summarize(pool, status, counts.in_production, snapshot.now);
  return status;
}

}  // namespace muster::lifecycle
