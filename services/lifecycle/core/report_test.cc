// What agents report, also where the rows were restored to a past in which the Node was not as far
// yet, or not gone yet. What fits moves it on, what does not is refused and changes nothing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/testing/decide.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using O = ReportNode::Observation;

constexpr char kProfile[] = "np-1";

// A Node of the past in that state, with what follows from it; the reports, one by one; where it
// ends.
NodeState AfterReports(NodeState past, Phase ordered, const std::vector<O>& reports, int& refused) {
  State rows;
  StagedState<State> staged(rows, 0);
  staged.Put(Pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"});
  Node node{.name = NodeName(kSimPool, "g1"), .machine = "g1", .pool_uid = "uid-1", .state = past};
  node.desired.phase = ordered;
  node.desired.node_profile = kProfile;
  node.observed.node_profile = past == NodeState::kReconfiguring ? "np-0" : kProfile;
  staged.Put(node);
  refused = 0;
  for (const O seen : reports) {
    const int64_t revision = staged.revision();
    const ReportNode report{.node = node.name, .observation = seen, .node_profile = kProfile};
    if (Decide(staged, report, absl::FromUnixSeconds(9)).ok()) continue;
    EXPECT_EQ(staged.revision(), revision);
    ++refused;
  }
  return rows.table<Node>().Find(node.name)->state;
}

struct Row {
  NodeState past;
  NodeState in_service;  // after what is said of a machine that is in the cluster, and ready
  int refused;           // of those two reports
  NodeState off;         // after it was said that the machine is off
};

TEST(ReportOfThePast, ANodeGoesAsFarAsThePastCanFollow) {
  using S = NodeState;
  const Row rows[] = {
      {S::kAssigned, S::kProduction, 0, S::kAssigned},
      {S::kBooting, S::kProduction, 0, S::kBooting},
      {S::kRegistered, S::kProduction, 0, S::kRegistered},
      {S::kProduction, S::kProduction, 0, S::kProduction},
      {S::kReconfiguring, S::kProduction, 0, S::kReconfiguring},
      // Whose health nobody took back, and who leaves, is not brought back by being there; what it
      // runs is taken.
      {S::kTriage, S::kTriage, 1, S::kTriage},
      {S::kCordoned, S::kCordoned, 0, S::kCordoned},
      {S::kDraining, S::kDraining, 0, S::kDraining},
      {S::kPreparedForTerminate, S::kPreparedForTerminate, 1, S::kDeleted},
      {S::kDeleted, S::kDeleted, 2, S::kDeleted},
      {S::kDeliveryFailed, S::kDeliveryFailed, 2, S::kDeliveryFailed},
  };
  ASSERT_EQ(std::size(rows), static_cast<size_t>(kNodeStates));
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(NodeStateName(row.past)));
    int refused = 0;
    EXPECT_EQ(AfterReports(row.past, Phase::kRunning, {O::kRegistered, O::kReady}, refused),
              row.in_service);
    EXPECT_EQ(refused, row.refused);
    EXPECT_EQ(AfterReports(row.past, Phase::kRunning, {O::kTerminated}, refused), row.off);
    const bool ordered = row.off == S::kDeleted || row.off == S::kDeliveryFailed;
    EXPECT_EQ(refused, ordered ? 0 : 1) << "nobody ordered it: it is told, not done";
  }
}

// The past has not ordered the boot yet: until it does, nothing is in service by itself.
TEST(ReportOfThePast, WhatWasNotOrderedYetWaitsForTheOrder) {
  int refused = 0;
  EXPECT_EQ(
      AfterReports(NodeState::kAssigned, Phase::kUndecided, {O::kRegistered, O::kReady}, refused),
      NodeState::kAssigned);
  EXPECT_EQ(refused, 2);
}

// Every observation in every state: what fits moves, what is known changes nothing, the rest is
// refused and changes nothing.
TEST(Report, WholeProduct) {
  for (int s = 0; s < kNodeStates; ++s) {
    for (int o = 0; o < kObservations; ++o) {
      const auto state = static_cast<NodeState>(s);
      SCOPED_TRACE(std::string(NodeStateName(state)) + " " + std::to_string(o));
      State rows;
      StagedState<State> setup(rows, 0);
      setup.Put(Pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"});
      Node node{.name = NodeName(kSimPool, "g1"), .machine = "g1", .state = state};
      node.desired.phase = Phase::kRunning;
      setup.Put(node);

      StagedState<State> staged(rows, 2);
      const ReportNode report{.node = node.name,
                              .observation = static_cast<ReportNode::Observation>(o),
                              .active_pods = {"default/job"}};
      const auto outcome = Decide(staged, report, absl::FromUnixSeconds(9));
      if (!outcome.ok()) {
        EXPECT_EQ(ReasonOf(outcome.status()), "NODE_STATE");
        EXPECT_TRUE(staged.changes().empty());
        continue;
      }
      const int64_t revision = staged.revision();
      const NodeState after = rows.table<Node>().Find(node.name)->state;
      const bool returned = IsReturnable(after) && !IsReturnable(state);
      EXPECT_EQ(rows.table<Pool>().Find(kSimPool)->account.generation, returned ? 2 : 1);
      // Said again it changes nothing.
      EXPECT_TRUE(Decide(staged, report, absl::FromUnixSeconds(10)).ok());
      EXPECT_EQ(staged.revision(), revision);
    }
  }
}

// Whatever is reported of whichever Node, its labels, annotations and taints are those that follow.
TEST(Report, MetadataFollows) {
  Pool pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"};
  pool.spec = GoodSpec();
  for (int s = 0; s < kNodeStates; ++s) {
    for (int o = 0; o < kObservations; ++o) {
      for (int marks = 0; marks < 8; ++marks) {
        SCOPED_TRACE(absl::StrCat(s, " ", o, " ", marks));
        Node node{
            .name = NodeName(kSimPool, "g1"), .machine = "g1", .state = static_cast<NodeState>(s)};
        node.desired.phase = Phase::kRunning;
        node.observed.active = (marks & 1) != 0;
        node.observed.unhealthy = (marks & 2) != 0;
        if ((marks & 4) != 0) {
          node.reserved_desired = kControlPlane;
          node.preempt_time = absl::FromUnixSeconds(3);
          node.desired.drain = true;
          node.desired.drain_time = absl::FromUnixSeconds(4);
        }
        UpdateMetadata(node, pool, true);
        State rows;
        StagedState<State> staged(rows, 0);
        staged.Put(pool);
        staged.Put(node);
        const ReportNode report{.node = node.name,
                                .observation = static_cast<ReportNode::Observation>(o),
                                .active_pods = {"default/job"}};
        (void)Decide(staged, report, absl::FromUnixSeconds(9));
        const Node& after = *rows.table<Node>().Find(node.name);
        const Metadata wanted = DesiredMetadata(pool, after, true);
        EXPECT_EQ(after.desired.labels, wanted.labels);
        EXPECT_EQ(after.desired.annotations, wanted.annotations);
        EXPECT_EQ(after.desired.taints, wanted.taints);
      }
    }
  }
}

// A report makes no metadata that it cannot change: what the pool's spec wants anew the plan
// brings.
TEST(Report, LabelsThatThePoolWantsAnewComeWithThePlan) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  const auto before = sim.node("g100")->desired.labels;
  sim.Apply([](Spec& spec) { spec.node_labels = {{"team", "ml"}}; });
  sim.SetActive("g100", true);
  EXPECT_TRUE(sim.node("g100")->observed.active);
  EXPECT_EQ(sim.node("g100")->desired.labels, before);
  sim.Pass();
  for (const char* machine : {"g100", "g101"})
    EXPECT_EQ(sim.node(machine)->desired.labels.get().at("team"), "ml") << machine;
  EXPECT_TRUE(sim.Converge());
}

TEST(Report, OfAnEarlierNodeOfTheNameChangesNothing) {
  State rows;
  StagedState<State> staged(rows, 0);
  staged.Put(Pool{.name = kSimPool, .uid = "uid-1"});
  Node node{.name = NodeName(kSimPool, "g1"), .machine = "g1"};
  node.state = NodeState::kPreparedForTerminate;
  node.create_time = absl::FromUnixSeconds(20);
  staged.Put(node);
  ReportNode report{.node = node.name, .observation = ReportNode::Observation::kTerminated};
  report.node_create_time = absl::FromUnixSeconds(10);
  EXPECT_EQ(ReasonOf(Decide(staged, report, absl::FromUnixSeconds(21)).status()), "NODE_STATE");
  EXPECT_EQ(*rows.table<Node>().Find(node.name), node);
  report.node_create_time = node.create_time;
  EXPECT_TRUE(Decide(staged, report, absl::FromUnixSeconds(21)).ok());
  EXPECT_EQ(rows.table<Node>().Find(node.name)->state, NodeState::kDeleted);
}

TEST(Report, NobodyRegistersWhatWasNotOrdered) {
  State rows;
  StagedState<State> staged(rows, 0);
  staged.Put(Pool{.name = kSimPool, .uid = "uid-1"});
  const std::string name = NodeName(kSimPool, "g1");
  staged.Put(Node{.name = name, .machine = "g1"});
  const ReportNode report{.node = name, .observation = ReportNode::Observation::kRegistered};
  EXPECT_EQ(ReasonOf(Decide(staged, report, absl::UnixEpoch()).status()), "NODE_STATE");
  EXPECT_EQ(ReasonOf(Decide(staged, ReportNode{.node = name + "0"}, absl::UnixEpoch()).status()),
            "NOT_FOUND");
}

TEST(ReportNode, AnObservationOfANewerReleaseChangesNothing) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  sim.SetActive("g100", true);
  const Node before = *sim.node("g100");
  const ReportNode report{.node = before.name, .is_unknown = true};
  EXPECT_EQ(ReasonOf(sim.Run(report).status()), "INVALID_FIELD");
  EXPECT_EQ(*sim.node("g100"), before);
}

// "Three boot failures in a row": a Node that was ill and is well again has not booted.
TEST(ReportNode, ACordonIsSeenWhileItIsToldTo) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  const auto cordon = [&](OrderNode::Verb verb) {
    sim.Must(OrderNode{.name = NodeName(kSimPool, "g100"), .verb = verb});
  };
  EXPECT_FALSE(sim.Report("g100", O::kCordoned).ok());
  cordon(OrderNode::Verb::kCordon);
  EXPECT_EQ(sim.node("g100")->observed.cordon_time, kNever);
  ASSERT_TRUE(sim.Report("g100", O::kCordoned).ok());
  const absl::Time seen = sim.node("g100")->observed.cordon_time;
  EXPECT_EQ(seen, sim.now());
  sim.Advance(absl::Minutes(1));
  ASSERT_TRUE(sim.Report("g100", O::kCordoned).ok());
  EXPECT_EQ(sim.node("g100")->observed.cordon_time, seen);
  cordon(OrderNode::Verb::kUncordon);
  EXPECT_EQ(sim.node("g100")->observed.cordon_time, kNever);
}

// What was under way when the cordon was taken back says nothing of the next one.
TEST(ReportNode, AFormerCordonIsNotThePresentOne) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  const std::string name = NodeName(kSimPool, "g100");
  const auto report = [&](absl::Time desired_time) {
    return sim
        .Run(ReportNode{.node = name,
                        .observation = ReportNode::Observation::kCordoned,
                        .desired_time = desired_time})
        .status();
  };
  sim.Advance(absl::Minutes(1));
  sim.Must(OrderNode{.name = name, .verb = OrderNode::Verb::kCordon});
  const absl::Time former = CordonDesiredTime(*sim.node("g100"));
  EXPECT_EQ(former, sim.node("g100")->orders.cordon_time);
  sim.Must(OrderNode{.name = name, .verb = OrderNode::Verb::kUncordon});
  sim.Advance(absl::Minutes(1));
  sim.Must(OrderNode{.name = name, .verb = OrderNode::Verb::kCordon});
  const absl::Time present = CordonDesiredTime(*sim.node("g100"));
  EXPECT_EQ(ReasonOf(report(former)), "NODE_STATE");
  EXPECT_EQ(sim.node("g100")->observed.cordon_time, kNever);
  EXPECT_TRUE(report(present).ok());
  EXPECT_EQ(sim.node("g100")->observed.cordon_time, sim.now());
  EXPECT_TRUE(report(former).ok()) << "it is known already";
}

// What was under way when the drain ended holds nothing up any more: the Node is switched off.
TEST(ReportNode, ADrainThatIsOverIsBlockedByNothing) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  sim.removal_fails = {"g100"};
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.node("g100")->state, NodeState::kPreparedForTerminate);
  ASSERT_TRUE(sim.node("g100")->desired.drain);
  EXPECT_EQ(ReasonOf(sim.Report("g100", O::kDrainBlocked, "default/web")), "NODE_STATE");
  EXPECT_EQ(sim.node("g100")->observed.drain_blocked_by, "");
  ASSERT_TRUE(sim.Report("g100", O::kTerminated).ok());
  EXPECT_EQ(ReasonOf(sim.Report("g100", O::kDrainBlocked, "default/web")), "NODE_STATE");
  EXPECT_EQ(sim.CountOf("CWNodeDrainingPDBViolation"), 0);
}

// Whatever the Node is cordoned for, a cordon that is begun anew is a later one.
TEST(ReportNode, AStateOrAChoiceForARebootIsACordonOfItsOwn) {
  const absl::Time then = absl::FromUnixSeconds(7);
  Node node{.name = NodeName(kSimPool, "g1"), .state = NodeState::kProduction};
  EXPECT_EQ(CordonDesiredTime(node), absl::InfinitePast());
  node.state_time = then;
  EXPECT_EQ(CordonDesiredTime(node), then);
  node.reconfigure_time = then + absl::Seconds(2);
  node.orders.cordon_time = then + absl::Seconds(1);
  EXPECT_EQ(CordonDesiredTime(node), node.reconfigure_time);
  node.reconfigure_time = kNever;
  EXPECT_EQ(CordonDesiredTime(node), node.orders.cordon_time);
}

TEST(ReportNode, OnlyABootEndsARowOfFailures) {
  const auto failures_after = [](NodeState past, const std::vector<O>& reports) {
    State rows;
    StagedState<State> staged(rows, 0);
    Pool pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"};
    pool.account.boot_failures.node_profile = kProfile;
    pool.account.boot_failures.machines = {"g7", "g8"};
    staged.Put(pool);
    Node node{
        .name = NodeName(kSimPool, "g1"), .machine = "g1", .pool_uid = "uid-1", .state = past};
    node.desired.phase = Phase::kRunning;
    node.desired.node_profile = kProfile;
    node.observed.node_profile = kProfile;
    staged.Put(node);
    for (const O seen : reports) {
      const ReportNode report{.node = node.name, .observation = seen, .node_profile = kProfile};
      EXPECT_TRUE(Decide(staged, report, absl::FromUnixSeconds(9)).ok());
    }
    EXPECT_EQ(rows.table<Node>().Find(node.name)->state, NodeState::kProduction);
    return rows.table<Pool>().Find(kSimPool)->account.boot_failures.machines.size();
  };
  EXPECT_EQ(failures_after(NodeState::kProduction, {O::kUnhealthy, O::kRecovered}), 2u);
  EXPECT_EQ(failures_after(NodeState::kRegistered, {O::kReady}), 0u);
  EXPECT_EQ(failures_after(NodeState::kReconfiguring, {O::kReady}), 0u);
}

}  // namespace
}  // namespace muster::lifecycle
