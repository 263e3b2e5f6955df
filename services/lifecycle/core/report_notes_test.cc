// What a report says of a Node beside its state.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using O = ReportNode::Observation;

constexpr char kBooted[] = "np-1";

// The Node and its pool after the report, which comes at 9 s.
std::pair<Node, Pool> BothReported(Pool pool, Node node, ReportNode report) {
  State rows;
  StagedState<State> staged(rows, 0);
  pool.name = kSimPool;
  pool.uid = node.pool_uid = "uid-1";
  pool.zone = "US-EAST-04A";
  node.name = report.node = NodeName(kSimPool, "g1");
  node.machine = "g1";
  node.desired.node_profile = kBooted;
  if (node.desired.phase == Phase::kUndecided) node.desired.phase = Phase::kRunning;
  staged.Put(std::move(pool));
  staged.Put(node);
  EXPECT_TRUE(Decide(staged, report, absl::FromUnixSeconds(9)).ok());
  return {*rows.table<Node>().Find(node.name), *rows.table<Pool>().Find(kSimPool)};
}

Node Reported(Node node, ReportNode report) {
  return BothReported({}, std::move(node), std::move(report)).first;
}

// A reboot has ended once another boot was seen, also by an agent that begins to tell them apart.
TEST(ReportNode, ABootIsSeenOnce) {
  using S = NodeState;
  const absl::Time earlier = absl::FromUnixSeconds(5);
  const absl::Time now = absl::FromUnixSeconds(9);
  struct Boot {
    S state;
    std::string boot_id;
    absl::Time boot_time;
    std::string told;
    absl::Time seen;
    bool well = false;  // what was said of its health is forgotten
  };
  const Boot boots[] = {
      {S::kBooting, "", kNever, "a", now},
      {S::kRegistered, "a", earlier, "a", earlier},
      {S::kProduction, "a", earlier, "a", earlier},
      {S::kProduction, "a", earlier, "b", now},
      {S::kProduction, "a", kNever, "b", now},
      {S::kProduction, "", earlier, "a", earlier},
      {S::kProduction, "", kNever, "a", kNever},
      {S::kProduction, "a", earlier, "", earlier},
      {S::kReconfiguring, "", kNever, "a", now, true},
      {S::kReconfiguring, "a", kNever, "b", now, true},
      {S::kReconfiguring, "a", earlier, "b", now},
      {S::kReconfiguring, "a", earlier, "a", earlier},
  };
  for (const Boot& boot : boots) {
    SCOPED_TRACE(absl::StrCat(NodeStateName(boot.state), " ", boot.boot_id, " ", boot.told));
    Node node{.state = boot.state};
    node.observed.boot_id = boot.boot_id;
    node.observed.boot_time = boot.boot_time;
    node.observed.unhealthy = true;
    node = Reported(node,
                    {.observation = O::kRegistered, .node_profile = kBooted, .boot_id = boot.told});
    EXPECT_EQ(node.observed.boot_time, boot.seen);
    EXPECT_EQ(node.observed.boot_id, boot.told.empty() ? boot.boot_id : boot.told);
    EXPECT_EQ(node.observed.unhealthy, !boot.well);
  }
}

TEST(ReportNode, WhatCannotBeStagedIsToldUntilItIsBooted) {
  Node node{.state = NodeState::kProduction};
  node.observed.staging_error = "no space";
  for (const char* profile : {"np-0", kBooted}) {
    const Node after = Reported(node, {.observation = O::kRegistered, .node_profile = profile});
    EXPECT_EQ(after.observed.staging_error.empty(), profile == kBooted);
  }
}

// Work that comes later gets the whole time again.
TEST(ReportNode, AnIdleNodeThatStaysIsForcedNoMore) {
  const auto forced = [](NodeState state, O seen, bool by_order = false) {
    Node node{.state = state};
    node.desired.drain = node.desired.force_drain = node.observed.active = true;
    node.orders.drain_forced = by_order;
    return Reported(node, {.observation = seen}).desired.force_drain;
  };
  EXPECT_FALSE(forced(NodeState::kProduction, O::kIdle));
  EXPECT_FALSE(forced(NodeState::kTriage, O::kIdle));
  EXPECT_TRUE(forced(NodeState::kProduction, O::kActive));
  EXPECT_TRUE(forced(NodeState::kProduction, O::kIdle, true));
  EXPECT_TRUE(forced(NodeState::kDraining, O::kIdle));
}

TEST(ReportNode, NotesWhatWasSeen) {
  const absl::Time now = absl::FromUnixSeconds(9);
  Node node{.state = NodeState::kProduction};
  node = Reported(node, {.observation = O::kUnschedulable});
  EXPECT_TRUE(node.observed.unschedulable);
  EXPECT_FALSE(Reported(node, {.observation = O::kSchedulable}).observed.unschedulable);
  node = Reported(node, {.observation = O::kActive, .active_pods = {"a/b"}, .active_pod_count = 3});
  EXPECT_EQ(node.observed.active_time, now);
  EXPECT_EQ(ActivePods(node.observed), 3);
  node.observed.active_time = absl::FromUnixSeconds(5);
  EXPECT_EQ(Reported(node, {.observation = O::kActive}).observed.active_time,
            absl::FromUnixSeconds(5))
      << "it was active before";
  node = Reported(node, {.observation = O::kIdle, .active_pods = {"a/b"}, .active_pod_count = 3});
  EXPECT_EQ(node.observed.active_time, now);
  EXPECT_EQ(ActivePods(node.observed), 0);
  node = Reported(node, {.observation = O::kUnhealthy, .message = "Xid 79"});
  EXPECT_EQ(node.observed.health_message.get(), "Xid 79");
}

// Its machine is asked to be taken back; who was to come for a Node that the target was lowered for
// comes no more.
TEST(ReportNode, AMachineThatIsGivenBackIsAskedForAnew) {
  using S = NodeState;
  struct Case {
    S state;
    O seen;
    bool asked;
    int64_t prefill;
    int64_t left;
  };
  const Case cases[] = {
      {S::kBooting, O::kBootFailed, true, 2, 1},
      {S::kBooting, O::kBootFailed, true, 0, 0},
      {S::kBooting, O::kBootFailed, false, 2, 2},
      {S::kPreparedForTerminate, O::kTerminated, true, 2, 2},
  };
  for (const Case& it : cases) {
    Pool pool;
    pool.account.generation = 4;
    pool.account.prefill_nodes = it.prefill;
    Node node{.state = it.state};
    node.asked_to_go_time = it.asked ? absl::UnixEpoch() : kNever;
    node.removal_requested = it.asked;
    if (it.state == S::kPreparedForTerminate) node.desired.phase = Phase::kTerminated;
    const auto [after, of] = BothReported(pool, node, {.observation = it.seen});
    EXPECT_TRUE(IsReturnable(after.state));
    EXPECT_EQ(of.account.generation, 5);
    EXPECT_EQ(of.account.prefill_nodes, it.left);
  }
}

TEST(ReportNode, OnlyTheRebootsThatWereAskedForCount) {
  for (const char* asked : {"g1", "g2"}) {
    Pool pool{.reconfiguration = Reconfiguration{.machines = {asked}}};
    Node node{.state = NodeState::kReconfiguring};
    node.observed.node_profile = kBooted;
    const Pool after = BothReported(pool, node, {.observation = O::kReady}).second;
    EXPECT_EQ(after.reconfiguration->rebooted_nodes, asked == absl::string_view("g1") ? 1 : 0);
  }
}

}  // namespace
}  // namespace muster::lifecycle
