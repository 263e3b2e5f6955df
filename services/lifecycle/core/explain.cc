#include "services/lifecycle/core/explain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/leaving_text.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/render_parts.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

class Explainer {
 public:
  Explainer(const Snapshot& snapshot, const PoolPlan& plan)
      : snapshot_(snapshot),
        pool_(*snapshot.pool),
        plan_(plan),
        catalogue_check_(CheckAgainstCatalogue(pool_, snapshot.catalogue, snapshot.answers)) {}

  std::vector<Obstacle> Run() {
    Catalogue();
    Quota();
    Capacity();
    Configuration();
    Reconfiguration();
    for (const Defer& defer : plan_.defers) {
      if (defer.reason != DeferReason::kDisruptionBudget) Deferred(defer);
    }
    DisruptionBudget();
    OnTheirWay();
    if (snapshot_.loop.leaderless) {
      NobodyReconciles();
    } else if (found_.empty() && !plan_.actions.empty()) {
      Add(ObstacleReason::kChanging,
          "Changes are being carried out: the next pass goes on from them.", Actor::kNobody);
    }
    return std::move(found_);
  }

  std::vector<Obstacle> RunOf(const std::string& node) {
    for (const Defer& defer : plan_.defers) {
      if (defer.subject == node && defer.reason != DeferReason::kCordonOrdered) Deferred(defer);
    }
    if (snapshot_.loop.leaderless) NobodyReconciles();
    return std::move(found_);
  }

 private:
  void Add(ObstacleReason reason, std::string message, Actor actor, absl::Time earliest = kNever,
           absl::Time latest = kNever) {
    AddNamed(ObstacleReasonName(reason), std::move(message), actor, earliest, latest);
  }
  void AddNamed(absl::string_view reason, std::string message, Actor actor, absl::Time earliest,
                absl::Time latest) {
    found_.push_back(
        {std::string(reason), pool_.name, std::move(message), actor, earliest, latest});
  }
  void Deferred(const Defer& defer) {
    AddNamed(DeferReasonName(defer.reason), defer.message, ActorOf(defer.reason), kNever,
             defer.until);
    found_.back().subject = defer.subject;
  }
  const PeerReplies& answers() const { return snapshot_.answers; }
  std::string Where() const {
    return absl::StrCat(pool_.spec.instance_type, " in zone ", pool_.zone);
  }

  void Catalogue() {
    // A pool that is being deleted need not be valid.
    if (catalogue_check_.validity == Validity::kInvalid && !pool_.deleting()) {
      Add(ObstacleReason::kInvalidSpec, catalogue_check_.message, WhoMadeItInvalid());
    }
    if (catalogue_check_.validity == Validity::kUnknown) {
      Add(ObstacleReason::kCatalogueUnknown, "The catalogue could not be read.", Actor::kOperator);
    }
  }

  // A pool that is where it should be does not miss them.
  void NobodyReconciles() {
    if (found_.empty() && plan_.actions.empty()) return;
    std::string message =
        "No replica of lifecycle reconciles: nothing happens to the pool until one does.";
    if (!snapshot_.loop.can_commit)
      absl::StrAppend(&message, " The one that says so cannot commit, and so cannot lead.");
    Add(ObstacleReason::kNoLeader, std::move(message), Actor::kOperator);
    std::rotate(found_.begin(), found_.end() - 1, found_.end());
  }

  // A type that the pool runs was taken out of the zone by its operator; one it does not run yet
  // was the user's choice.
  Actor WhoMadeItInvalid() const {
    if (catalogue_check_.of_zone) return snapshot_.nodes.empty() ? Actor::kUser : Actor::kOperator;
    const ConfigurationFacts& configuration = answers().configuration.value;
    const bool unreleased = !configuration.problem.empty() && !configuration.problem_of_spec;
    return unreleased ? Actor::kOperator : Actor::kUser;
  }

  // For a pool that is being deleted that is as it should be.
  void Released(absl::string_view service) {
    if (!pool_.deleting()) Add(ObstacleReason::kPoolReleased, ReleasedText(service), Actor::kUser);
  }

  // Whether a quota that is used up keeps the pool from anything: Nodes that it holds beyond its
  // target and gives back need none.
  bool AsksForMoreThanThereIs(const HoldingFacts& answer) const {
    return pool_.wanted_nodes() > answer.nodes ||
           VerdictOfTarget(pool_, answer) == HoldingFacts::Verdict::kOver;
  }

  void Quota() {
    const PeerReply<HoldingFacts>& holding = answers().holding;
    if (holding.released()) {
      Released("quota");
    } else if (holding.away()) {
      Add(ObstacleReason::kQuotaOutOfReach,
          absl::StrCat("Quota could not be asked", BecauseText(holding.error)), Actor::kOperator);
    }
    if (!holding.here() || pool_.deleting()) return;
    const HoldingFacts& answer = holding.value;
    if (answer.verdict == HoldingFacts::Verdict::kOver && AsksForMoreThanThereIs(answer)) {
      Add(ObstacleReason::kOverQuota,
          absl::StrCat(
              "The quota of ", Where(), " is ", CountText(answer.limit, "Node"), ", ", answer.held,
              " are held, ", answer.nodes, " by this NodePool, which wants ", pool_.wanted_nodes(),
              ".",
              answer.holders.empty() ? "" : absl::StrCat(" Held by others: ", answer.holders, ".")),
          Actor::kQuotaAdmin);
    }
    if (answer.verdict == HoldingFacts::Verdict::kNotSet) {
      Add(ObstacleReason::kQuotaNotSet, absl::StrCat("There is no quota for ", Where(), "."),
          Actor::kQuotaAdmin);
    }
  }

  // Why `machines` do not suffice; empty: they are fewer than are asked for.
  std::string TooFew(int64_t machines) const {
    return machines < answers().claim.value.nodes ? "" : TooFewText(snapshot_.catalogue);
  }

  void Capacity() {
    const PeerReply<ClaimFacts>& claim = answers().claim;
    if (claim.released()) {
      Released("capacity");
    } else if (claim.away()) {
      Add(ObstacleReason::kCapacityOutOfReach,
          absl::StrCat("Capacity could not be asked", BecauseText(claim.error)), Actor::kOperator);
    }
    if (!claim.here() || claim.value.outstanding == 0) return;
    const std::string missing = absl::StrCat(claim.value.outstanding, " of ",
                                             CountText(claim.value.nodes, "Node"), " of ", Where());
    switch (claim.value.reason) {
      case ClaimFacts::Reason::kSufficient:
        return;
      case ClaimFacts::Reason::kQueued:
        return Queued(missing);
      case ClaimFacts::Reason::kPartial:
      case ClaimFacts::Reason::kNoneAvailable:
        return Add(
            ObstacleReason::kNotEnoughMachines,
            absl::StrCat(missing, " cannot come: ", CountText(claim.value.in_service, "machine"),
                         claim.value.in_service == 1 ? " is" : " are", " in service",
                         TooFew(claim.value.in_service), "."),
            Actor::kCapacity);
      case ClaimFacts::Reason::kPartialNodeAffinity:
      case ClaimFacts::Reason::kNoneAvailableNodeAffinity:
        return NodeAffinity(missing);
    }
  }

  // Machines in repair match once they are back: then those who repair must act, unless too few
  // match even so.
  void NodeAffinity(const std::string& missing) {
    const ClaimFacts& claim = answers().claim.value;
    const int64_t in_repair = claim.matching_in_repair;
    const bool repairs_help =
        in_repair > 0 && (claim.matching == 0 || claim.matching + in_repair >= claim.nodes);
    std::string message = absl::StrCat(
        missing, " cannot come: ", claim.matching, " of ", CountText(claim.in_service, "machine"),
        " in service match the node affinity", TooFew(claim.matching), ".");
    if (in_repair > 0) {
      absl::StrAppend(&message, " In repair: ", CountText(in_repair, "machine"), " that ",
                      in_repair == 1 ? "matches." : "match.");
    }
    Add(ObstacleReason::kNodeAffinity, std::move(message),
        repairs_help ? Actor::kCapacity : Actor::kUser);
  }

  // A reclaimed machine is shut down at the end of its notice, whatever becomes of its drain; its
  // agent then has kTerminationGrace to report it.
  void BeingReclaimed(const ReclaimedFor& reclaimed) {
    const absl::Duration notice = snapshot_.policy.preemption_end;
    int64_t due = reclaimed.machines;
    for (const MachineReclaim& one : reclaimed.oldest) {
      if (snapshot_.now < one.time + notice + kTerminationGrace) continue;
      --due;
      AddNamed(DeferReasonName(DeferReason::kAgentSilent),
               absl::StrCat("Machine ", one.machine, ", reclaimed from spot for this NodePool, was",
                            " to be shut down at ", TimeText(one.time + notice),
                            ", and its agent has not said that it is."),
               ActorOf(DeferReason::kAgentSilent), kNever, kNever);
    }
    if (due <= 0) return;
    absl::Time latest = reclaimed.last + notice;
    if (latest <= snapshot_.now) latest += kTerminationGrace;
    Add(ObstacleReason::kBeingReclaimed,
        absl::StrCat(CountText(due, "machine"), " of ", Where(), due == 1 ? " is" : " are",
                     " being reclaimed from spot for this NodePool, until ", TimeText(latest),
                     " at the latest."),
        Actor::kNobody, kNever, latest);
  }

  void Queued(const std::string& missing) {
    const ClaimFacts& claim = answers().claim.value;
    if (claim.reclaimed.machines > 0) BeingReclaimed(claim.reclaimed);
    const std::optional<QueuePlace>& queue = claim.queue;
    std::string message = absl::StrCat(missing, " wait in the queue");
    if (queue) {
      absl::StrAppend(&message, " at place ", queue->place, ", behind ",
                      CountText(queue->nodes_ahead, "Node"), " of others");
    }
    const bool known = queue && queue->earliest && queue->latest;
    Add(ObstacleReason::kQueued, absl::StrCat(message, "."), Actor::kNobody,
        known ? snapshot_.now + *queue->earliest : kNever,
        known ? snapshot_.now + *queue->latest : kNever);
  }

  void Configuration() {
    const PeerReply<ConfigurationFacts>& configuration = answers().configuration;
    if (configuration.released()) {
      Released("configuration");
    } else if (configuration.away()) {
      Add(ObstacleReason::kConfigurationOutOfReach,
          absl::StrCat("The configuration could not be asked", BecauseText(configuration.error)),
          Actor::kOperator);
    }
    if (!configuration.here()) return;
    const std::string& problem = configuration.value.problem;
    if (!problem.empty() && !absl::StrContains(catalogue_check_.message, problem)) {
      Add(ObstacleReason::kConfigurationProblem, problem, Actor::kOperator);
    }
    const std::string& active = configuration.value.active;
    for (const NodeConfiguration& revision : configuration.value.revisions) {
      const bool is_active =
          revision.node_profile == (active.empty() ? pool_.status.node_profile : active);
      if (!is_active || !revision.disabled) continue;
      Add(ObstacleReason::kConfigurationDisabled,
          absl::StrCat("Configuration ", revision.node_profile,
                       " is disabled: too many boots failed, and no further Node boots into it."),
          Actor::kOperator);
    }
    if (configuration.value.waiting) {
      Add(ObstacleReason::kConfigurationWaits,
          absl::StrCat("Configuration ", configuration.value.waiting->node_profile,
                       " becomes active once Nodes that are mid-delivery have booted."),
          Actor::kNobody, kNever, BootedBy());
    }
  }

  // Nodes that run take up what is staged when somebody orders it. An order that is paused or
  // halted has a reason of its own.
  void Reconfiguration() {
    if (pool_.deleting() || (pool_.reconfiguration && !pool_.reconfiguration->ended())) return;
    const Condition* required =
        FindCondition(pool_.status.conditions, condition::kNodeReconfigurationRequired);
    if (required == nullptr || required->reason != reason::kStagedNodeConfig) return;
    Add(ObstacleReason::kReconfigurationNeeded,
        absl::StrCat(required->message.get(), " No reconfiguration is under way."), Actor::kUser);
  }

  // One obstacle for all Nodes that wait for the budget. Who must act for a Node that uses the
  // budget, must act for these, too; that Node's own obstacle stands before.
  void DisruptionBudget() {
    std::vector<const Defer*> waiting;
    const Defer* cause = nullptr;
    for (const Defer& defer : plan_.defers) {
      if (defer.reason == DeferReason::kDisruptionBudget) waiting.push_back(&defer);
      const bool acts = ActorOf(defer.reason) != Actor::kNobody;
      if (acts && (cause == nullptr || ActorOf(cause->reason) == Actor::kUser) && Disrupts(defer)) {
        cause = &defer;
      }
    }
    if (waiting.empty()) return;
    std::string message = waiting[0]->message;
    if (waiting.size() > 1) {
      absl::StrAppend(&message, " So ", waiting.size() == 2 ? "does " : "do ",
                      CountText(static_cast<int64_t>(waiting.size()) - 1, "more Node"), ".");
    }
    AddNamed(DeferReasonName(DeferReason::kDisruptionBudget), std::move(message),
             cause == nullptr ? Actor::kNobody : ActorOf(cause->reason), kNever,
             cause == nullptr ? kNever : cause->until);
    found_.back().subject = waiting[0]->subject;
  }
  bool Disrupts(const Defer& defer) const {
    const auto& nodes = snapshot_.nodes;
    const auto it = std::lower_bound(
        nodes.begin(), nodes.end(), defer.subject,
        [](const Node* node, const std::string& name) { return node->name < name; });
    return it != nodes.end() && (*it)->name == defer.subject && DisruptionOf(**it) != nullptr;
  }

  static bool Boots(const Node& node) {
    return node.desired.phase == Phase::kRunning &&
           (IsInProgress(node.state) || node.state == NodeState::kRegistered ||
            node.state == NodeState::kReconfiguring);
  }
  static bool Leaves(const Node& node) {
    return node.removal_cause != RemovalCause::kNone || IsReturnable(node.state) ||
           node.state == NodeState::kPreparedForTerminate;
  }
  // `until`, or kNever if it has passed: nobody knows when what is late will be over.
  absl::Time Expected(absl::Time until) const { return until <= snapshot_.now ? kNever : until; }
  // By when the last Node that boots has booted or is given up; kNever: none boots, or one is late.
  absl::Time BootedBy() const {
    absl::Time latest = absl::InfinitePast();
    for (const Node* node : snapshot_.nodes) {
      if (!Boots(*node)) continue;
      const absl::Time until = node->desired.phase_time + snapshot_.policy.boot_deadline;
      latest = std::max(latest, Expected(until));
    }
    return Expected(latest);
  }
  // By when a Node on its way out is gone, as far as that depends on time; kNever: it does not.
  absl::Time GoneBy(const Node& node) const {
    if (IsReturnable(node.state)) return snapshot_.now + snapshot_.policy.retry;
    if (node.state == NodeState::kPreparedForTerminate)
      return Expected(node.desired.phase_time + kTerminationGrace);
    if (node.preempt_time != kNever)
      return Expected(node.preempt_time + snapshot_.policy.preemption_end + kTerminationGrace);
    return Expected(node.desired.drain_deadline + kTerminationGrace);
  }

  // Nodes that are where they should be, only not yet.
  void OnTheirWay() {
    int64_t booting = 0;
    std::vector<const Node*> leaving;
    absl::Time gone_by = absl::InfinitePast();
    for (const Node* node : snapshot_.nodes) {
      booting += Boots(*node) ? 1 : 0;
      if (!Leaves(*node)) continue;
      leaving.push_back(node);
      gone_by = std::max(gone_by, GoneBy(*node));
    }
    if (booting > 0) {
      Add(ObstacleReason::kBooting, absl::StrCat("Nodes that boot: ", booting, "."), Actor::kNobody,
          kNever, BootedBy());
    }
    if (!leaving.empty()) {
      Add(ObstacleReason::kLeaving, LeavingText(leaving), Actor::kNobody, kNever, gone_by);
    }
  }

  const Snapshot& snapshot_;
  const Pool& pool_;
  const PoolPlan& plan_;
  const CatalogueCheck catalogue_check_;
  std::vector<Obstacle> found_;
};

}  // namespace

std::vector<Obstacle> Explain(const Snapshot& snapshot, const PoolPlan& plan) {
  return Explainer(snapshot, plan).Run();
}

std::vector<Obstacle> ExplainNode(const Snapshot& snapshot, const PoolPlan& plan,
                                  const std::string& node) {
  return Explainer(snapshot, plan).RunOf(node);
}

}  // namespace muster::lifecycle
