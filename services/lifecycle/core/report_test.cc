// Agents report what is; the rows were restored to a past in which the Node was not as far yet, or
// not gone yet. What fits moves it on, what does not is refused and changes nothing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/simulation.h"

namespace muster::lifecycle {
namespace {

using Seen = ReportNode::Observation;

constexpr char kProfile[] = "np-1";

// A Node of the past in that state, with what follows from it; the reports, one by one; where it
// ends.
NodeState After(NodeState past, Phase ordered, const std::vector<Seen>& reports, int& refused) {
  State rows;
  StagedState<State> staged(rows, 0);
  staged.Put(Pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"});
  Node node{.name = NodeName(kSimPool, "g1"), .machine = "g1", .pool_uid = "uid-1", .state = past};
  node.desired.phase = ordered;
  node.desired.node_profile = kProfile;
  node.observed.node_profile = past == NodeState::kReconfiguring ? "np-0" : kProfile;
  staged.Put(node);
  refused = 0;
  for (const Seen seen : reports) {
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
    EXPECT_EQ(After(row.past, Phase::kRunning, {Seen::kRegistered, Seen::kReady}, refused),
              row.in_service);
    EXPECT_EQ(refused, row.refused);
    EXPECT_EQ(After(row.past, Phase::kRunning, {Seen::kTerminated}, refused), row.off);
    EXPECT_EQ(refused, row.off == S::kDeleted ? 0 : 1) << "nobody ordered it: it is told, not done";
  }
}

// The past has not ordered the boot yet: until it does, nothing is in service by itself.
TEST(ReportOfThePast, WhatWasNotOrderedYetWaitsForTheOrder) {
  int refused = 0;
  EXPECT_EQ(
      After(NodeState::kAssigned, Phase::kUndecided, {Seen::kRegistered, Seen::kReady}, refused),
      NodeState::kAssigned);
  EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace muster::lifecycle
