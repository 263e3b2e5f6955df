#include "services/lifecycle/core/explain.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/render.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

Actor ActorOf(DeferReason reason) {
  switch (reason) {
    case DeferReason::kReleasing:
    case DeferReason::kMachineNotHeld:
    case DeferReason::kMachineTaken:
    case DeferReason::kCatalogueUnknown:
    case DeferReason::kStagingFailed:
    case DeferReason::kRemovalFailed:
    case DeferReason::kNoConfiguration:
    case DeferReason::kConfigurationDisabled:
      return Actor::kOperator;
    case DeferReason::kWaitsUntilIdle:
    case DeferReason::kDrainBlocked:
    case DeferReason::kReconfigurationPaused:
    case DeferReason::kReconfigurationHalted:
      return Actor::kUser;
    case DeferReason::kMoreThanWanted:
    case DeferReason::kProtected:
    case DeferReason::kDisruptionBudget:
    case DeferReason::kWaitsForRecovery:
    case DeferReason::kWaitsForReplacement:
    case DeferReason::kWaitsForReboot:
    case DeferReason::kPreempting:
    case DeferReason::kGiveUpLimit:
      return Actor::kNobody;
  }
  return Actor::kNobody;
}

class Explainer {
 public:
  Explainer(const Snapshot& snapshot, const PoolPlan& plan)
      : snapshot_(snapshot), pool_(*snapshot.pool), plan_(plan) {}

  std::vector<Obstacle> Run() {
    Catalogue();
    Quota();
    Capacity();
    Configuration();
    for (const Defer& defer : plan_.defers) {
      Add(DeferReasonName(defer.reason), defer.message, ActorOf(defer.reason), kNever, defer.until);
      found_.back().subject = defer.subject;
    }
    OnTheirWay();
    if (found_.empty() && !plan_.actions.empty()) {
      Add("CHANGING", "Changes are being carried out: the next pass goes on from them.",
          Actor::kNobody);
    }
    return std::move(found_);
  }

 private:
  void Add(absl::string_view reason, std::string message, Actor actor, absl::Time earliest = kNever,
           absl::Time latest = kNever) {
    found_.push_back(
        {std::string(reason), pool_.name, std::move(message), actor, earliest, latest});
  }
  const Answers& answers() const { return snapshot_.answers; }
  std::string Where() const {
    return absl::StrCat(pool_.spec.instance_type, " in zone ", pool_.zone);
  }

  void Catalogue() {
    const Judgement judgement = Judge(pool_, snapshot_.catalogue, answers().claim);
    if (judgement.validity == Validity::kInvalid) {
      Add("INVALID_SPEC", judgement.message, Actor::kUser);
    }
    if (judgement.validity == Validity::kUnknown) {
      Add("CATALOGUE_UNKNOWN", "The catalogue could not be read.", Actor::kOperator);
    }
  }

  // Of a pool that is being deleted it is what is wanted.
  void Released(absl::string_view service) {
    if (!pool_.deleting()) Add("POOL_RELEASED", ReleasedText(service), Actor::kUser);
  }

  void Quota() {
    const Answer<HoldingAnswer>& holding = answers().holding;
    if (holding.released()) {
      Released("quota");
    } else if (holding.away()) {
      Add("QUOTA_OUT_OF_REACH",
          absl::StrCat("Quota could not be asked", BecauseText(holding.error)), Actor::kOperator);
    }
    if (!holding.here()) return;
    const HoldingAnswer& answer = holding.value;
    if (answer.verdict == HoldingAnswer::Verdict::kOver) {
      Add("OVER_QUOTA",
          absl::StrCat("The quota of ", Where(), " is ", CountText(answer.limit, "Node"), ", ",
                       answer.held, " are held, ", answer.nodes, " by this NodePool, which wants ",
                       pool_.wanted_nodes(), ".",
                       answer.holders.empty() ? "" : " Held by others: ", answer.holders),
          Actor::kQuotaAdmin);
    }
    if (answer.verdict == HoldingAnswer::Verdict::kNotSet) {
      Add("QUOTA_NOT_SET", absl::StrCat("There is no quota for ", Where(), "."),
          Actor::kQuotaAdmin);
    }
  }

  void Capacity() {
    const Answer<ClaimAnswer>& claim = answers().claim;
    if (claim.released()) {
      Released("capacity");
    } else if (claim.away()) {
      Add("CAPACITY_OUT_OF_REACH",
          absl::StrCat("Capacity could not be asked", BecauseText(claim.error)), Actor::kOperator);
    }
    if (!claim.here() || claim.value.outstanding == 0) return;
    const std::string missing = absl::StrCat(claim.value.outstanding, " of ",
                                             CountText(claim.value.nodes, "Node"), " of ", Where());
    switch (claim.value.reason) {
      case ClaimAnswer::Reason::kSufficient:
        return;
      case ClaimAnswer::Reason::kQueued:
        return Queued(missing);
      case ClaimAnswer::Reason::kPartial:
      case ClaimAnswer::Reason::kNoneAvailable:
        return Add(
            "NOT_ENOUGH_MACHINES",
            absl::StrCat(missing, " cannot come: ", CountText(claim.value.in_service, "machine"),
                         claim.value.in_service == 1 ? " is" : " are", " in service."),
            Actor::kCapacity);
      case ClaimAnswer::Reason::kPartialNodeAffinity:
      case ClaimAnswer::Reason::kNoneAvailableNodeAffinity:
        return Add("NODE_AFFINITY",
                   absl::StrCat(missing, " cannot come: ", claim.value.matching, " of ",
                                CountText(claim.value.in_service, "machine"),
                                " in service match the node affinity."),
                   Actor::kUser);
    }
  }

  void Queued(const std::string& missing) {
    const ClaimAnswer& claim = answers().claim.value;
    if (claim.being_reclaimed > 0) {
      // What is reclaimed began to be so by now, and goes then whatever becomes of its drain.
      const absl::Time latest = snapshot_.now + kPreemptionEnd;
      Add("BEING_RECLAIMED",
          absl::StrCat(CountText(claim.being_reclaimed, "machine"), " of ", Where(),
                       claim.being_reclaimed == 1 ? " is" : " are",
                       " being reclaimed from spot for this NodePool, until ", TimeText(latest),
                       " at the latest."),
          Actor::kNobody, kNever, latest);
    }
    const std::optional<QueuePlace>& queue = claim.queue;
    std::string message = absl::StrCat(missing, " wait in the queue");
    if (queue) {
      absl::StrAppend(&message, " at place ", queue->place, ", behind ",
                      CountText(queue->nodes_ahead, "Node"), " of others");
    }
    const bool known = queue && queue->earliest && queue->latest;
    Add("QUEUED", absl::StrCat(message, "."), Actor::kNobody,
        known ? snapshot_.now + *queue->earliest : kNever,
        known ? snapshot_.now + *queue->latest : kNever);
  }

  void Configuration() {
    const Answer<ConfigurationAnswer>& configuration = answers().configuration;
    if (configuration.released()) {
      Released("configuration");
    } else if (configuration.away()) {
      Add("CONFIGURATION_OUT_OF_REACH",
          absl::StrCat("The configuration could not be asked", BecauseText(configuration.error)),
          Actor::kOperator);
    }
    if (!configuration.here()) return;
    if (!configuration.value.problem.empty()) {
      Add("CONFIGURATION_PROBLEM", configuration.value.problem, Actor::kUser);
    }
    const std::string& active = configuration.value.active;
    for (const NodeConfiguration& revision : configuration.value.revisions) {
      const bool is_active =
          revision.node_profile == (active.empty() ? pool_.status.node_profile : active);
      if (!is_active || !revision.disabled) continue;
      Add("CONFIGURATION_DISABLED",
          absl::StrCat("Configuration ", revision.node_profile,
                       " is disabled: too many boots failed, and no further Node boots into it."),
          Actor::kOperator);
    }
    if (configuration.value.waiting) {
      Add("CONFIGURATION_WAITS",
          absl::StrCat("Configuration ", configuration.value.waiting->node_profile,
                       " becomes active once Nodes that are mid-delivery have booted."),
          Actor::kNobody);
    }
  }

  // Nodes that are where they should be, only not yet.
  void OnTheirWay() {
    int64_t booting = 0;
    int64_t leaving = 0;
    absl::Time latest = absl::InfinitePast();
    for (const Node* node : snapshot_.nodes) {
      const bool boots = node->desired.phase == Phase::kRunning &&
                         (IsInProgress(node->state) || node->state == NodeState::kRegistered ||
                          node->state == NodeState::kReconfiguring);
      booting += boots ? 1 : 0;
      if (boots)
        latest = std::max(latest, node->desired.phase_time + snapshot_.policy.boot_deadline);
      const bool leaves = node->removal_cause != RemovalCause::kNone || IsReturnable(node->state);
      leaving += leaves ? 1 : 0;
    }
    if (booting > 0) {
      Add("BOOTING", absl::StrCat("Nodes that boot: ", booting, "."), Actor::kNobody, kNever,
          latest);
    }
    if (leaving > 0) {
      Add("LEAVING", absl::StrCat("Nodes on their way out: ", leaving, "."), Actor::kNobody);
    }
  }

  const Snapshot& snapshot_;
  const Pool& pool_;
  const PoolPlan& plan_;
  std::vector<Obstacle> found_;
};

}  // namespace

const char* DeferReasonName(DeferReason reason) {
  switch (reason) {
    case DeferReason::kReleasing:
      return "RELEASING";
    case DeferReason::kMachineNotHeld:
      return "MACHINE_NOT_HELD";
    case DeferReason::kCatalogueUnknown:
      return "CATALOGUE_UNKNOWN";
    case DeferReason::kNoConfiguration:
      return "NO_CONFIGURATION";
    case DeferReason::kConfigurationDisabled:
      return "CONFIGURATION_DISABLED";
    case DeferReason::kMoreThanWanted:
      return "MORE_THAN_WANTED";
    case DeferReason::kWaitsUntilIdle:
      return "WAITS_UNTIL_IDLE";
    case DeferReason::kProtected:
      return "PROTECTED";
    case DeferReason::kDisruptionBudget:
      return "DISRUPTION_BUDGET";
    case DeferReason::kWaitsForRecovery:
      return "WAITS_FOR_RECOVERY";
    case DeferReason::kWaitsForReplacement:
      return "WAITS_FOR_REPLACEMENT";
    case DeferReason::kWaitsForReboot:
      return "WAITS_FOR_REBOOT";
    case DeferReason::kDrainBlocked:
      return "DRAIN_BLOCKED";
    case DeferReason::kPreempting:
      return "PREEMPTING";
    case DeferReason::kStagingFailed:
      return "STAGING_FAILED";
    case DeferReason::kRemovalFailed:
      return "REMOVAL_FAILED";
    case DeferReason::kReconfigurationPaused:
      return "RECONFIGURATION_PAUSED";
    case DeferReason::kReconfigurationHalted:
      return "RECONFIGURATION_HALTED";
    case DeferReason::kGiveUpLimit:
      return "GIVE_UP_LIMIT";
    case DeferReason::kMachineTaken:
      return "MACHINE_TAKEN";
  }
  return "";
}

std::vector<Obstacle> Explain(const Snapshot& snapshot, const PoolPlan& plan) {
  return Explainer(snapshot, plan).Run();
}

}  // namespace muster::lifecycle
