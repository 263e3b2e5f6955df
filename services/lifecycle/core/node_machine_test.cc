#include "services/lifecycle/core/node_machine.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"

namespace muster::lifecycle {
namespace {

// The drawing of node_machine.h, written a second time; what is not here must not be there.
const std::map<std::pair<std::string, std::string>, std::string>& Edges() {
  static const auto* const kEdges = new std::map<std::pair<std::string, std::string>, std::string>{
      {{"ASSIGNED", "BOOT_STARTED"}, "BOOTING"},
      {{"ASSIGNED", "REGISTERED"}, "REGISTERED"},
      {{"ASSIGNED", "BOOT_FAILED"}, "DELIVERY_FAILED"},
      {{"ASSIGNED", "BOOT_TIMED_OUT"}, "DELIVERY_FAILED"},
      {{"ASSIGNED", "DISCARD"}, "DELETED"},
      {{"ASSIGNED", "ABORT"}, "PREPARED_FOR_TERMINATE"},
      {{"BOOTING", "REGISTERED"}, "REGISTERED"},
      {{"BOOTING", "BOOT_FAILED"}, "DELIVERY_FAILED"},
      {{"BOOTING", "BOOT_TIMED_OUT"}, "DELIVERY_FAILED"},
      {{"BOOTING", "ABORT"}, "PREPARED_FOR_TERMINATE"},
      {{"REGISTERED", "READY"}, "PRODUCTION"},
      {{"REGISTERED", "BOOT_FAILED"}, "DELIVERY_FAILED"},
      {{"REGISTERED", "BOOT_TIMED_OUT"}, "DELIVERY_FAILED"},
      {{"REGISTERED", "ABORT"}, "PREPARED_FOR_TERMINATE"},
      {{"PRODUCTION", "RECONFIGURE"}, "RECONFIGURING"},
      {{"PRODUCTION", "UNHEALTHY"}, "TRIAGE"},
      {{"PRODUCTION", "CORDON"}, "CORDONED"},
      {{"RECONFIGURING", "READY"}, "PRODUCTION"},
      {{"RECONFIGURING", "BOOT_FAILED"}, "DELIVERY_FAILED"},
      {{"RECONFIGURING", "BOOT_TIMED_OUT"}, "DELIVERY_FAILED"},
      {{"RECONFIGURING", "ABORT"}, "PREPARED_FOR_TERMINATE"},
      {{"TRIAGE", "RECONFIGURE"}, "RECONFIGURING"},
      {{"TRIAGE", "RECOVERED"}, "PRODUCTION"},
      {{"TRIAGE", "CORDON"}, "CORDONED"},
      {{"CORDONED", "UNCORDON"}, "PRODUCTION"},
      {{"CORDONED", "UNHEALTHY"}, "TRIAGE"},
      {{"CORDONED", "DRAIN"}, "DRAINING"},
      {{"DRAINING", "DRAINED"}, "PREPARED_FOR_TERMINATE"},
      {{"DRAINING", "EXPIRE"}, "PREPARED_FOR_TERMINATE"},
      {{"PREPARED_FOR_TERMINATE", "TERMINATED"}, "DELETED"},
  };
  return *kEdges;
}

TEST(NodeMachine, WholeProduct) {
  for (int s = 0; s < kNodeStates; ++s) {
    for (int e = 0; e < kNodeEvents; ++e) {
      const auto state = static_cast<NodeState>(s);
      const auto event = static_cast<NodeEvent>(e);
      SCOPED_TRACE(std::string(NodeStateName(state)) + " " + std::string(NodeEventName(event)));
      const auto edge =
          Edges().find({std::string(NodeStateName(state)), std::string(NodeEventName(event))});
      const std::optional<NodeState> next = Next(state, event);
      ASSERT_EQ(next.has_value(), edge != Edges().end());
      if (next) {
        EXPECT_EQ(NodeStateName(*next), edge->second);
      }
      EXPECT_FALSE(next && Knows(state, event));

      Node node{.name = "n", .state = state};
      const Node before = node;
      const absl::Status status = Step(node, event, absl::FromUnixSeconds(5));
      EXPECT_EQ(status.ok(), next.has_value());
      if (!next) {
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
        EXPECT_EQ(node, before);
      } else {
        EXPECT_EQ(node.state, *next);
        EXPECT_EQ(node.state_time, absl::FromUnixSeconds(5));
      }
    }
  }
}

TEST(NodeMachine, DesiredFollowsTheWayOut) {
  Node node{.name = "n", .state = NodeState::kProduction};
  const absl::Time now = absl::FromUnixSeconds(5);
  ASSERT_TRUE(Step(node, NodeEvent::kCordon, now).ok());
  EXPECT_TRUE(node.desired.cordoned);
  ASSERT_TRUE(Step(node, NodeEvent::kDrain, now).ok());
  EXPECT_TRUE(node.desired.drain);
  EXPECT_EQ(node.desired.phase, Phase::kUndecided);
  ASSERT_TRUE(Step(node, NodeEvent::kDrained, now).ok());
  EXPECT_EQ(node.desired.phase, Phase::kTerminated);
}

// Unhealthy or recovered, a Node goes on being drained or rebooted as it was ordered to be.
TEST(NodeMachine, HealthEndsNoOrder) {
  const absl::Time before = absl::FromUnixSeconds(50);
  const absl::Time now = absl::FromUnixSeconds(100);
  for (const bool reboots : {false, true}) {
    Node node{.state = NodeState::kProduction};
    (reboots ? node.reconfigure_time : node.orders.drain_time) = before;
    node.orders.reboot = reboots ? Reboot::kDrained : Reboot::kNone;
    StartDrain(node.desired, now + absl::Hours(1), before);
    node.observed.drain_blocked_by = "pdb-1";
    const Desired drain = node.desired;
    for (const NodeEvent event : {NodeEvent::kUnhealthy, NodeEvent::kRecovered}) {
      ASSERT_TRUE(Step(node, event, now).ok());
      EXPECT_TRUE(node.desired.drain);
      EXPECT_EQ(node.desired.drain_time, drain.drain_time);
      EXPECT_EQ(node.desired.drain_deadline, drain.drain_deadline);
      EXPECT_EQ(node.observed.drain_blocked_by, "pdb-1");
      EXPECT_EQ(node.reconfigure_time, reboots ? before : kNever);
      EXPECT_EQ(node.desired.cordoned, reboots || event == NodeEvent::kUnhealthy);
    }
  }
  Node node{.state = NodeState::kProduction};
  node.reconfigure_time = before;  // chosen for its configuration, which nobody ordered
  StartDrain(node.desired, now, before);
  ASSERT_TRUE(Step(node, NodeEvent::kUnhealthy, now).ok());
  EXPECT_FALSE(node.desired.drain);
  EXPECT_EQ(node.desired.drain_time, kNever);
  EXPECT_EQ(node.desired.drain_deadline, kNever);
  EXPECT_EQ(node.reconfigure_time, kNever);
}

TEST(NodeMachine, AStepForgetsWhatIsOver) {
  const absl::Time before = absl::FromUnixSeconds(50);
  const auto after = [&](NodeState state, NodeEvent event) {
    Node node{.state = state, .removal_cause = RemovalCause::kScaleDown};
    node.preempt_time = node.asked_to_go_time = node.replace_time = before;
    node.desired.drain = state == NodeState::kDraining;
    node.observed.drain_blocked_by = "pdb-1";
    node.observed.removal_error = "no power";
    EXPECT_TRUE(Step(node, event, absl::FromUnixSeconds(100)).ok());
    return node;
  };
  Node node = after(NodeState::kCordoned, NodeEvent::kUncordon);
  EXPECT_EQ(node.removal_cause, RemovalCause::kNone);
  EXPECT_EQ(node.preempt_time, kNever);
  EXPECT_EQ(node.asked_to_go_time, before) << "it may be asked again";
  EXPECT_EQ(node.replace_time, kNever);
  node = after(NodeState::kCordoned, NodeEvent::kDrain);
  EXPECT_EQ(node.removal_cause, RemovalCause::kScaleDown);
  EXPECT_EQ(node.preempt_time, before);
  EXPECT_EQ(node.asked_to_go_time, kNever) << "it goes";
  EXPECT_EQ(node.observed.drain_blocked_by, "pdb-1");
  node = after(NodeState::kDraining, NodeEvent::kDrained);
  EXPECT_EQ(node.observed.drain_blocked_by, "");
  EXPECT_EQ(node.observed.removal_error, "no power");
  node = after(NodeState::kPreparedForTerminate, NodeEvent::kTerminated);
  EXPECT_EQ(node.observed.removal_error, "");
  node = after(NodeState::kCordoned, NodeEvent::kUnhealthy);
  EXPECT_EQ(node.replace_time, before) << "its replacement was asked for";
}

TEST(NodeMachine, AReboot) {
  const absl::Time chosen = absl::FromUnixSeconds(50);
  for (const bool was_chosen : {true, false}) {
    const absl::Time now = absl::FromUnixSeconds(100);
    Node node{.state = NodeState::kProduction};
    if (was_chosen) node.reconfigure_time = chosen;
    node.orders.reboot = Reboot::kWhenIdle;
    node.orders.reboot_time = node.observed.boot_time = node.observed.cordon_time = chosen;
    ASSERT_TRUE(Step(node, NodeEvent::kReconfigure, now).ok());
    EXPECT_EQ(node.reconfigure_time, was_chosen ? chosen : now);
    EXPECT_EQ(node.orders, NodeOrders{});
    EXPECT_EQ(node.observed.boot_time, kNever) << "it is not back yet";
    EXPECT_EQ(node.observed.cordon_time, kNever);
    EXPECT_TRUE(node.desired.cordoned);
    ASSERT_TRUE(Step(node, NodeEvent::kReady, now).ok());
    EXPECT_EQ(node.reconfigure_time, kNever);
    EXPECT_FALSE(node.desired.cordoned);
  }
}

TEST(NodeMachine, PresentFromRegistrationUntilOff) {
  Node node{.name = "n", .state = NodeState::kBooting};
  const absl::Time now = absl::FromUnixSeconds(5);
  UpdateConditions(node, now);
  EXPECT_FALSE(IsPresent(node));
  for (const NodeEvent event : {NodeEvent::kRegistered, NodeEvent::kReady, NodeEvent::kCordon,
                                NodeEvent::kDrain, NodeEvent::kDrained}) {
    ASSERT_TRUE(Step(node, event, now).ok());
    EXPECT_TRUE(IsPresent(node)) << NodeStateName(node.state);
  }
  ASSERT_TRUE(Step(node, NodeEvent::kTerminated, now).ok());
  EXPECT_FALSE(IsPresent(node));
}

// "CWNodeRemoval: true if the Node is pending removal." So is one that never came up.
TEST(NodeMachine, WhoDoesNotStayIsPendingRemoval) {
  for (int s = 0; s < kNodeStates; ++s) {
    Node node{.name = "n", .state = static_cast<NodeState>(s)};
    SCOPED_TRACE(std::string(NodeStateName(node.state)));
    UpdateConditions(node, absl::FromUnixSeconds(1));
    const Condition* removal = FindCondition(node.conditions, condition::kNodeRemoval);
    ASSERT_NE(removal, nullptr);
    EXPECT_EQ(removal->status == condition_status::kTrue, node.state >= NodeState::kCordoned);
  }
}

TEST(NodeMachine, AnAbortedBootWasNeverPresent) {
  Node node{.name = "n", .state = NodeState::kBooting};
  UpdateConditions(node, absl::FromUnixSeconds(1));
  ASSERT_TRUE(Step(node, NodeEvent::kAbort, absl::FromUnixSeconds(2)).ok());
  EXPECT_FALSE(IsPresent(node));
}

TEST(NodeMachine, ACordonCountsOnceItWasSeenOrAfterAWhile) {
  const Policy policy{.cordon_settle = absl::Seconds(2), .cordon_patience = absl::Minutes(10)};
  const absl::Time told = absl::FromUnixSeconds(100);
  Node node{.name = "n", .state = NodeState::kProduction};
  EXPECT_EQ(CordonEffectiveTime(node, told, policy), told + absl::Minutes(10));
  EXPECT_EQ(CordonEffectiveTime(node, told, {.cordon_patience = absl::ZeroDuration()}),
            told + Policy().cordon_settle);
  node.observed.cordon_time = told + absl::Seconds(7);
  EXPECT_EQ(CordonEffectiveTime(node, told, policy), told + absl::Seconds(7));
  // Seen of an order before.
  node.observed.cordon_time = told - absl::Seconds(7);
  EXPECT_EQ(CordonEffectiveTime(node, told, policy), told);
}

}  // namespace
}  // namespace muster::lifecycle
