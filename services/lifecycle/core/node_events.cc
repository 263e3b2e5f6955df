#include "services/lifecycle/core/node_events.h"

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/reserved_taint.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

absl::string_view CauseText(RemovalCause cause) {
  switch (cause) {
    case RemovalCause::kNone:
      return "it is not needed";
    case RemovalCause::kScaleDown:
      return "the pool is over target";
    case RemovalCause::kRepair:
      return "it is unhealthy and will be replaced";
    case RemovalCause::kPreemption:
      return "its machine is needed elsewhere";
    case RemovalCause::kDeletion:
      return "the pool is being deleted";
    case RemovalCause::kReservation:
      return "it is moved to the control plane";
  }
  return "";
}

// Tells of one change, part by part.
class NodeEventDiff {
 public:
  NodeEventDiff(const Node* before, const Node& after, absl::string_view why, bool timed_out)
      : nothing_{.state = after.state},
        was_(before == nullptr ? nothing_ : *before),
        is_(after),
        why_(why),
        timed_out_(timed_out),
        comes_(before == nullptr),
        moved_(was_.state != after.state) {}

  std::vector<NodeEventTold> Run() {
    if (comes_) OnPool("CWNodeAssigned", " was assigned to the NodePool.");
    if (To(NodeState::kRegistered)) OnBoth("CWNodeRegistered", " was registered.");
    if (To(NodeState::kDeliveryFailed)) Failure();
    Health();
    Removal();
    Preemption();
    Cordon();
    Drain();
    Departure();
    Configuration();
    return std::move(told_);
  }

 private:
  bool To(NodeState state) const { return moved_ && is_.state == state; }
  bool FromTo(NodeState from, NodeState to) const { return was_.state == from && To(to); }
  std::string Text(absl::string_view what) const {
    return absl::StrCat("Node ", is_.machine, what);
  }
  void OnNode(absl::string_view reason, absl::string_view what) {
    told_.push_back({false, std::string(reason), Text(what)});
  }
  // What goes as it should names no Node there, so that a pool of hundreds has one row of it,
  // counted; the Node's own events tell which it was.
  void OnPool(absl::string_view reason, absl::string_view what) {
    const bool counted = EventTypeOf(reason) == "Normal";
    told_.push_back(
        {true, std::string(reason), counted ? absl::StrCat("A Node", what) : Text(what)});
  }
  void OnBoth(absl::string_view reason, absl::string_view what) {
    OnNode(reason, what);
    OnPool(reason, what);
  }

  // Before it booted, or while it booted; booted and never registered; or after all that, in the
  // cluster, which it leaves as every Node does.
  void Failure() {
    const std::string because = BecauseText(why_);
    const bool rebooted = was_.state == NodeState::kReconfiguring;
    if (rebooted || was_.state == NodeState::kRegistered) {
      OnBoth("CWNodeBootFailed",
             rebooted ? absl::StrCat(" did not come up from its reboot into configuration ",
                                     is_.desired.node_profile, because)
                      : absl::StrCat(" was registered and did not become ready", because));
      OnPool("CWNodeDeletionRequestSuccess", " is to be deleted: its boot failed.");
      OnPool("CWNodeDeleted", " was deleted.");
    } else if (was_.state == NodeState::kBooting && timed_out_) {
      OnNode("CWNodeRegistrationFailed", absl::StrCat(" could not be registered", because));
    } else {
      OnPool("CWNodeDeliverFail", absl::StrCat(" could not be delivered", because));
    }
  }

  // The way out begins. A preemption can still be taken back: it is told of when its drain begins.
  void Removal() {
    const bool left = was_.removal_cause != RemovalCause::kNone;
    const bool leaves = is_.removal_cause != RemovalCause::kNone;
    const bool begins = is_.removal_cause == RemovalCause::kPreemption
                            ? moved_ && is_.state != NodeState::kCordoned &&
                                  (!left || was_.state == NodeState::kCordoned)
                            : leaves && !left;
    if (!begins) return;
    const absl::string_view cause = CauseText(is_.removal_cause);
    OnPool("CWNodeDeletionRequestSuccess", absl::StrCat(" is to be deleted: ", cause, "."));
    if (is_.state == NodeState::kDeleted) return;  // it was never told to boot
    OnBoth("CWNodeMarkedPrepareForTerminate", absl::StrCat(" is to be terminated: ", cause, "."));
  }

  void Preemption() {
    if (was_.preempt_time == kNever && is_.preempt_time != kNever) {
      OnNode("Preemption pending", " will be preempted: its machine is needed elsewhere.");
    }
    if (!IsDrainedForPreemption(was_) && IsDrainedForPreemption(is_)) {
      OnNode("Preemption in progress", " is being drained for preemption.");
    }
  }

  void Cordon() {
    if (!was_.desired.cordoned && is_.desired.cordoned) {
      OnBoth("CWNodeCordoned", " was cordoned.");
    }
    if (was_.desired.cordoned && !is_.desired.cordoned) {
      OnBoth("CWNodeUncordoned", " was uncordoned.");
    }
    // Of one that arrives nothing is told: it came with its taint.
    if (was_.machine.empty() || was_.state == NodeState::kRegistered) return;
    const bool had = HasReservedTaint(was_);
    const bool has = HasReservedTaint(is_);
    if (!had && has)
      OnBoth("CWNodeTainted", " was tainted: node.coreweave.cloud/reserved:NoExecute.");
    if (had && !has) OnBoth("CWNodeUntainted", " was untainted: node.coreweave.cloud/reserved.");
  }

  void Health() {
    if (was_.observed.unhealthy || !is_.observed.unhealthy) return;
    // A relapse of one that is looked at already is told with the first.
    if (was_.state == NodeState::kTriage) return;
    OnNode("CWNodeUnhealthy",
           absl::StrCat(" is unhealthy", BecauseText(is_.observed.health_message)));
  }

  void Drain() {
    if (!was_.desired.drain && is_.desired.drain) {
      OnPool("CWDrainNode", " is being drained.");
      OnBoth("CWNodeDraining", " is being drained.");
    }
    if (was_.observed.drain_blocked_by.empty() && !is_.observed.drain_blocked_by.empty()) {
      OnBoth("CWNodeDrainingPDBViolation",
             absl::StrCat(" cannot be drained", BecauseText(is_.observed.drain_blocked_by)));
    }
    if (!was_.desired.force_drain && is_.desired.force_drain) {
      OnBoth("CWNodeDrainingForceDelete",
             " was not drained in time: what is left on it is deleted.");
    }
  }

  void Departure() {
    if (To(NodeState::kPreparedForTerminate)) {
      OnBoth("CWNodePreparedForTerminate", " is prepared for termination.");
    }
    if (was_.observed.removal_error.empty() && !is_.observed.removal_error.empty()) {
      OnPool("CWNodePoolNodesRemoveError",
             absl::StrCat(" could not be removed", BecauseText(is_.observed.removal_error)));
    }
    if (!To(NodeState::kDeleted)) return;
    if (is_.preempt_time != kNever) OnNode("Deleted for preemption", " was preempted.");
    OnPool("CWNodeDeleted", " was deleted.");
  }

  void Configuration() {
    const std::string& profile = is_.desired.node_profile;
    const bool boots = is_.desired.phase == Phase::kRunning && is_.state == NodeState::kAssigned &&
                       was_.desired.phase != Phase::kRunning;
    if (boots || To(NodeState::kReconfiguring)) {
      OnNode("CWConfigStaged", absl::StrCat(" boots into configuration ", profile, "."));
    }
    if (FromTo(NodeState::kReconfiguring, NodeState::kProduction)) {
      OnNode("CWReconfigureRebooted",
             absl::StrCat(" was rebooted into configuration ", is_.observed.node_profile, "."));
    }
    if (was_.observed.staging_error.empty() && !is_.observed.staging_error.empty()) {
      OnNode("CWNodeConfigStagingFailed",
             absl::StrCat(" could not be staged with configuration ", profile,
                          BecauseText(is_.observed.staging_error)));
    }
  }

  const Node nothing_;
  const Node& was_;
  const Node& is_;
  const absl::string_view why_;
  const bool timed_out_;
  const bool comes_;
  const bool moved_;
  std::vector<NodeEventTold> told_;
};

}  // namespace

std::vector<NodeEventTold> EventsOf(const Node* before, const Node& after, absl::string_view why,
                                    bool timed_out) {
  return NodeEventDiff(before, after, why, timed_out).Run();
}

}  // namespace muster::lifecycle
