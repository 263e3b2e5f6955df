#include "services/fleetsim/wish.h"

#include <algorithm>

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;

Wish::Power PowerOf(const NodeView& view, bool booted) {
  switch (view.state) {
    case Node::STATE_BOOTING:
      return booted ? Wish::Power::kArriving : Wish::Power::kOff;
    case Node::STATE_RECONFIGURING:
      return view.back ? Wish::Power::kRunning : Wish::Power::kRebooting;
    case Node::STATE_REGISTERED:
    case Node::STATE_PRODUCTION:
    case Node::STATE_TRIAGE:
    case Node::STATE_CORDONED:
    case Node::STATE_DRAINING:
      return Wish::Power::kRunning;
    case Node::STATE_ASSIGNED:
    case Node::STATE_PREPARED_FOR_TERMINATE:
    case Node::STATE_DELETED:
    case Node::STATE_DELIVERY_FAILED:
    case Node::STATE_UNSPECIFIED:
    case lifecycle::v1::Node_State_Node_State_INT_MIN_SENTINEL_DO_NOT_USE_:
    case lifecycle::v1::Node_State_Node_State_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return Wish::Power::kOff;
}

void SetReady(Wish& wish, const Life& life, bool due, bool fails, bool recovers) {
  const NodeView& view = life.view;
  const bool comes_up = wish.power != Wish::Power::kRunning ||
                        view.state == Node::STATE_REGISTERED ||
                        view.state == Node::STATE_RECONFIGURING;
  if (comes_up && !due) {
    wish.reason = "KubeletNotReady";
    wish.message = "the machine boots (simulated)";
  } else if (!comes_up && (fails || (life.stopped && !recovers))) {
    wish.reason = kKubeletStopped;
    wish.message = kFailure;
  } else {
    wish.ready = true;
    wish.reason = "KubeletReady";
    wish.message = "kubelet is posting ready status";
  }
}

}  // namespace

bool IsSilent(const Wish& wish) {
  return wish.power == Wish::Power::kOff || wish.power == Wish::Power::kRebooting ||
         wish.reason == kKubeletStopped;
}

Wish WishOf(const Life& life, const Work& work, const std::vector<Action>& due) {
  const auto has = [&due](Action action) {
    return std::find(due.begin(), due.end(), action) != due.end();
  };
  const auto change = [&has](Action begin, Action end) {
    if (has(begin)) return Wish::Change::kBegin;
    return has(end) ? Wish::Change::kEnd : Wish::Change::kLeave;
  };
  Wish wish{.machine = life.machine,
            .create_time = life.view.create_time,
            .zone = life.zone,
            .instance_type = life.instance_type,
            .power = PowerOf(life.view, has(Action::kFinishBoot))};
  if (wish.power == Wish::Power::kOff) return wish;
  wish.boot_id = wish.power == Wish::Power::kRebooting
                     ? life.view.boot_id
                     : BootIdOf(life.view.create_time, life.view.phase_time);
  SetReady(wish, life, has(Action::kReady), has(Action::kFail), has(Action::kRecover));
  wish.work = change(Action::kStartWork, Action::kFinishWork);
  if (wish.work == Wish::Change::kBegin) wish.new_work = work;
  wish.mark = change(Action::kMark, Action::kUnmark);
  wish.cordon = change(Action::kCordon, Action::kUncordon);
  return wish;
}

}  // namespace muster::fleetsim
