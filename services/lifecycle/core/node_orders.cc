#include "services/lifecycle/core/node_orders.h"

#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

absl::string_view VerbText(OrderNode::Verb verb) {
  switch (verb) {
    case OrderNode::Verb::kCordon:
      return "a cordon";
    case OrderNode::Verb::kUncordon:
      return "an uncordon";
    case OrderNode::Verb::kDrain:
      return "a drain";
    case OrderNode::Verb::kReboot:
      return "a reboot";
  }
  return "";
}

absl::Time SinceWhen(absl::Time before, absl::Time now) { return before == kNever ? now : before; }

void TakeBack(Node& node) {
  // Of a Node that its pool's reconfiguration chose the cordon is that one's.
  const NodeOrders& orders = node.orders;
  const bool chosen = node.reconfigure_time != kNever && orders.reboot == Reboot::kNone &&
                      orders.drain_time == kNever;
  node.orders = {};
  if (!Stays(node.state) || node.state == NodeState::kReconfiguring || chosen) return;
  node.reconfigure_time = kNever;
  node.desired.cordoned = node.state == NodeState::kTriage;
  ForgetCordon(node);
  StopDrain(node.desired);
  node.observed.drain_blocked_by.clear();
}

}  // namespace

absl::Status TakeOrder(Node& node, const OrderNode& order, absl::Time now) {
  using Verb = OrderNode::Verb;
  if (order.verb == Verb::kUncordon) {
    TakeBack(node);
    return absl::OkStatus();
  }
  const bool reboots = order.verb == Verb::kReboot;
  if (reboots ? !IsUp(node.state) : !TakesOrders(node.state)) {
    return error::DoesNotFit(node.name, NodeStateName(node.state), VerbText(order.verb));
  }
  NodeOrders& orders = node.orders;
  if (reboots) {
    if (orders.reboot != order.reboot) orders.reboot_time = now;
    orders.reboot = order.reboot;
    return absl::OkStatus();
  }
  orders.cordon_time = SinceWhen(orders.cordon_time, now);
  if (order.verb == Verb::kDrain) {
    orders.drain_time = SinceWhen(orders.drain_time, now);
    orders.drain_forced = orders.drain_forced || order.force;
  }
  KeepOrders(node);
  return absl::OkStatus();
}

}  // namespace muster::lifecycle
