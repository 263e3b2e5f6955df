#include "services/fleetsim/desired_machine.h"

#include <algorithm>

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;

DesiredMachine::Power PowerOf(const NodeView& view, bool booted) {
  switch (view.state) {
    case Node::STATE_BOOTING:
      return booted ? DesiredMachine::Power::kArriving : DesiredMachine::Power::kOff;
    case Node::STATE_RECONFIGURING:
      return view.back ? DesiredMachine::Power::kRunning : DesiredMachine::Power::kRebooting;
    case Node::STATE_REGISTERED:
    case Node::STATE_PRODUCTION:
    case Node::STATE_TRIAGE:
    case Node::STATE_CORDONED:
    case Node::STATE_DRAINING:
      return DesiredMachine::Power::kRunning;
    case Node::STATE_ASSIGNED:
    case Node::STATE_PREPARED_FOR_TERMINATE:
    case Node::STATE_DELETED:
    case Node::STATE_DELIVERY_FAILED:
    case Node::STATE_UNSPECIFIED:
    case lifecycle::v1::Node_State_Node_State_INT_MIN_SENTINEL_DO_NOT_USE_:
    case lifecycle::v1::Node_State_Node_State_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return DesiredMachine::Power::kOff;
}

void SetReady(DesiredMachine& desired, const Life& life, bool due, bool fails, bool recovers) {
  const NodeView& view = life.view;
  const bool comes_up = desired.power != DesiredMachine::Power::kRunning ||
                        view.state == Node::STATE_REGISTERED ||
                        view.state == Node::STATE_RECONFIGURING;
  if (comes_up && !due) {
    desired.reason = "KubeletNotReady";
    desired.message = "the machine boots (simulated)";
  } else if (!comes_up && (fails || (life.stopped && !recovers))) {
    desired.reason = kKubeletStopped;
    desired.message = kFailure;
  } else {
    desired.ready = true;
    desired.reason = "KubeletReady";
    desired.message = "kubelet is posting ready status";
  }
}

}  // namespace

bool IsSilent(const DesiredMachine& desired) {
  return desired.power == DesiredMachine::Power::kOff ||
         desired.power == DesiredMachine::Power::kRebooting || desired.reason == kKubeletStopped;
}

DesiredMachine DesiredOf(const Life& life, const Work& work, const std::vector<Action>& due) {
  const auto has = [&due](Action action) {
    return std::find(due.begin(), due.end(), action) != due.end();
  };
  const auto change = [&has](Action begin, Action end) {
    if (has(begin)) return DesiredMachine::Change::kBegin;
    return has(end) ? DesiredMachine::Change::kEnd : DesiredMachine::Change::kLeave;
  };
  DesiredMachine desired{.machine = life.machine,
                         .create_time = life.view.create_time,
                         .zone = life.zone,
                         .instance_type = life.instance_type,
                         .power = PowerOf(life.view, has(Action::kFinishBoot))};
  if (desired.power == DesiredMachine::Power::kOff) return desired;
  desired.boot_id = desired.power == DesiredMachine::Power::kRebooting
                        ? life.view.boot_id
                        : BootIdOf(life.view.create_time, life.view.phase_time);
  SetReady(desired, life, has(Action::kReady), has(Action::kFail), has(Action::kRecover));
  desired.work = change(Action::kStartWork, Action::kFinishWork);
  if (desired.work == DesiredMachine::Change::kBegin) desired.new_work = work;
  desired.mark = change(Action::kMark, Action::kUnmark);
  desired.cordon = change(Action::kCordon, Action::kUncordon);
  return desired;
}

}  // namespace muster::fleetsim
