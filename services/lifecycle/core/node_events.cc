#include "services/lifecycle/core/node_events.h"

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/reserved_taint.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

// `why`: read of a Node that leaves for none of the causes.
absl::string_view CauseText(const Node& node, absl::string_view why) {
  switch (node.removal_cause) {
    case RemovalCause::kNone:
      return why.empty() ? "it is not needed" : why;
    case RemovalCause::kScaleDown:
      return "the pool is over target";
    case RemovalCause::kRepair:
      return node.observed.unhealthy ? "it is unhealthy and will be replaced"
                                     : "its machine is not known as the NodePool's any more";
    case RemovalCause::kPreemption:
      return "its machine is needed elsewhere";
    case RemovalCause::kDeletion:
      return "the pool is being deleted";
    case RemovalCause::kReservation:
      return "it is moved to the control plane";
  }
  return "";
}

absl::string_view OrderText(Reboot reboot) {
  switch (reboot) {
    case Reboot::kNone:
      return "";
    case Reboot::kWhenIdle:
      return " is ordered to reboot once it is idle.";
    case Reboot::kDrained:
      return " is ordered to reboot once it is drained.";
    case Reboot::kForced:
      return " is ordered to reboot at once.";
  }
  return "";
}

// Tells of one change, part by part.
class NodeEventDiff {
 public:
  NodeEventDiff(const Node* before, const Node& after, absl::string_view why, bool timed_out)
      : nothing_{.state = after.state},
        before_(before == nullptr ? nothing_ : *before),
        after_(after),
        why_(why),
        timed_out_(timed_out),
        comes_(before == nullptr),
        moved_(before_.state != after.state) {}

  std::vector<EventToEmit> Run() {
    if (comes_) OnPool(EventReason::kNodeAssigned, " was assigned to the NodePool.");
    if (To(NodeState::kRegistered)) OnBoth(EventReason::kNodeRegistered, " was registered.");
    if (To(NodeState::kDeliveryFailed)) Failure();
    Health();
    Orders();
    Removal();
    Preemption();
    Cordon();
    Drain();
    Departure();
    Configuration();
    return std::move(told_);
  }

 private:
  bool To(NodeState state) const { return moved_ && after_.state == state; }
  bool FromTo(NodeState from, NodeState to) const { return before_.state == from && To(to); }
  std::string Text(absl::string_view what) const {
    return absl::StrCat("Node ", after_.machine, what);
  }
  void OnNode(EventReason reason, absl::string_view what) {
    told_.push_back({false, reason, Text(what)});
  }
  // A normal event of the pool names no Node, so that a pool of hundreds has one row of it, with a
  // count; the Node's own events tell which it was.
  void OnPool(EventReason reason, absl::string_view what) {
    const bool counted = TypeOf(reason) == EventType::kNormal;
    told_.push_back({true, reason, counted ? absl::StrCat("A Node", what) : Text(what)});
  }
  void OnBoth(EventReason reason, absl::string_view what) {
    OnNode(reason, what);
    OnPool(reason, what);
  }

  // A boot failed: of a Node that was in the cluster and now leaves it as every Node does; of one
  // that booted and never registered; or of one that could not be delivered at all.
  void Failure() {
    const std::string because = BecauseText(why_);
    const bool rebooted = before_.state == NodeState::kReconfiguring;
    if (rebooted || before_.state == NodeState::kRegistered) {
      OnBoth(EventReason::kNodeBootFailed,
             rebooted ? absl::StrCat(" did not come up from its reboot into configuration ",
                                     after_.desired.node_profile.get(), because)
                      : absl::StrCat(" was registered and did not become ready", because));
      OnPool(EventReason::kNodeDeletionRequestSuccess, " is to be deleted: its boot failed.");
      OnPool(EventReason::kNodeDeleted, " was deleted.");
    } else if (before_.state == NodeState::kBooting && timed_out_) {
      OnNode(EventReason::kNodeRegistrationFailed,
             absl::StrCat(" could not be registered", because));
    } else {
      OnPool(EventReason::kNodeDeliverFail, absl::StrCat(" could not be delivered", because));
    }
  }

  // Who is ended before it has booted may leave for no cause of its own. Of one whose boot failed
  // Failure tells.
  static bool Leaves(const Node& node) {
    return node.removal_cause != RemovalCause::kNone ||
           node.state == NodeState::kPreparedForTerminate || node.state == NodeState::kDeleted;
  }

  // The way out begins. A preemption can be taken back while the Node is cordoned, and is told only
  // when its drain begins, unless it took over from another cause that was told when the Node was
  // cordoned.
  void Removal() {
    const bool left = Leaves(before_);
    const bool untold = !left || (before_.state == NodeState::kCordoned &&
                                  before_.state_time >= before_.preempt_time);
    const bool begins = after_.removal_cause == RemovalCause::kPreemption
                            ? moved_ && after_.state != NodeState::kCordoned && untold
                            : Leaves(after_) && !left;
    if (!begins) return;
    const absl::string_view cause = CauseText(after_, why_);
    OnPool(EventReason::kNodeDeletionRequestSuccess,
           absl::StrCat(" is to be deleted: ", cause, "."));
    if (after_.state == NodeState::kDeleted) return;  // it was never told to boot
    OnBoth(EventReason::kNodeMarkedPrepareForTerminate,
           absl::StrCat(" is to be terminated: ", cause, "."));
  }

  void Preemption() {
    if (before_.preempt_time == kNever && after_.preempt_time != kNever) {
      OnNode(EventReason::kPreemptionPending,
             " will be preempted: its machine is needed elsewhere.");
    }
    if (!IsDrainedForPreemption(before_) && IsDrainedForPreemption(after_)) {
      OnNode(EventReason::kPreemptionInProgress, " is being drained for preemption.");
    }
  }

  void Cordon() {
    if (!before_.desired.cordoned && after_.desired.cordoned) {
      OnBoth(EventReason::kNodeCordoned, " was cordoned.");
    }
    if (before_.desired.cordoned && !after_.desired.cordoned) {
      OnBoth(EventReason::kNodeUncordoned, " was uncordoned.");
    }
    // Nothing is told of a Node that arrives: it comes with its taint.
    if (before_.machine.empty() || before_.state == NodeState::kRegistered) return;
    const bool had = HasReservedTaint(before_);
    const bool has = HasReservedTaint(after_);
    if (!had && has)
      OnBoth(EventReason::kNodeTainted, " was tainted: node.coreweave.cloud/reserved:NoExecute.");
    if (had && !has)
      OnBoth(EventReason::kNodeUntainted, " was untainted: node.coreweave.cloud/reserved.");
  }

  // When the ordered reboot begins, its order is over and was not taken back.
  void Orders() {
    const NodeOrders& was = before_.orders;
    const NodeOrders& is = after_.orders;
    if (was.any() && !is.any() && !To(NodeState::kReconfiguring))
      return OnNode(EventReason::kNodeOrdered, " is under no orders any more.");
    if (was.drain_time == kNever && is.drain_time != kNever) {
      OnNode(EventReason::kNodeOrdered, " is ordered to be drained.");
    } else if (was.cordon_time == kNever && is.cordon_time != kNever) {
      OnNode(EventReason::kNodeOrdered, " is ordered to take no new work.");
    }
    if (!was.drain_forced && is.drain_forced)
      OnNode(EventReason::kNodeOrdered, " is ordered to be drained by force.");
    if (was.reboot != is.reboot && is.reboot != Reboot::kNone)
      OnNode(EventReason::kNodeOrdered, OrderText(is.reboot));
  }

  void Health() {
    if (before_.observed.unhealthy || !after_.observed.unhealthy) return;
    // A relapse while the Node is in triage belongs to what was told already.
    if (before_.state == NodeState::kTriage) return;
    OnNode(EventReason::kNodeUnhealthy,
           absl::StrCat(" is unhealthy", BecauseText(after_.observed.health_message)));
  }

  void Drain() {
    if (!before_.desired.drain && after_.desired.drain) {
      OnPool(EventReason::kDrainNode, " is being drained.");
      OnBoth(EventReason::kNodeDraining, " is being drained.");
    }
    if (before_.observed.drain_blocked_by.empty() && !after_.observed.drain_blocked_by.empty()) {
      OnBoth(EventReason::kNodeDrainingPDBViolation,
             absl::StrCat(" cannot be drained", BecauseText(after_.observed.drain_blocked_by)));
    }
    if (!before_.desired.force_drain && after_.desired.force_drain) {
      OnBoth(EventReason::kNodeDrainingForceDelete,
             after_.orders.drain_forced
                 ? " is drained by force, as ordered: what is left on it is deleted."
                 : " was not drained in time: what is left on it is deleted.");
    }
  }

  void Departure() {
    if (To(NodeState::kPreparedForTerminate)) {
      OnBoth(EventReason::kNodePreparedForTerminate, " is prepared for termination.");
    }
    if (before_.observed.removal_error.empty() && !after_.observed.removal_error.empty()) {
      OnPool(EventReason::kNodePoolNodesRemoveError,
             absl::StrCat(" could not be removed", BecauseText(after_.observed.removal_error)));
    }
    if (!To(NodeState::kDeleted)) return;
    if (after_.preempt_time != kNever)
      OnNode(EventReason::kDeletedForPreemption, " was preempted.");
    OnPool(EventReason::kNodeDeleted, " was deleted.");
  }

  void Configuration() {
    const std::string& profile = after_.desired.node_profile;
    const bool boots = after_.desired.phase == Phase::kRunning &&
                       after_.state == NodeState::kAssigned &&
                       before_.desired.phase != Phase::kRunning;
    if (boots || To(NodeState::kReconfiguring)) {
      OnNode(EventReason::kConfigStaged, absl::StrCat(" boots into configuration ", profile, "."));
    }
    if (FromTo(NodeState::kReconfiguring, NodeState::kProduction)) {
      OnNode(EventReason::kReconfigureRebooted,
             absl::StrCat(" was rebooted into configuration ", after_.observed.node_profile.get(),
                          "."));
    }
    if (before_.observed.staging_error.empty() && !after_.observed.staging_error.empty()) {
      OnNode(EventReason::kNodeConfigStagingFailed,
             absl::StrCat(" could not be staged with configuration ", profile,
                          BecauseText(after_.observed.staging_error)));
    }
  }

  const Node nothing_;
  const Node& before_;
  const Node& after_;
  const absl::string_view why_;
  const bool timed_out_;
  const bool comes_;
  const bool moved_;
  std::vector<EventToEmit> told_;
};

}  // namespace

std::vector<EventToEmit> EventsOf(const Node* before, const Node& after, absl::string_view why,
                                  bool timed_out) {
  return NodeEventDiff(before, after, why, timed_out).Run();
}

}  // namespace muster::lifecycle
