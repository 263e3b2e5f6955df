#include "services/lifecycle/core/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/simulation.h"

namespace muster::lifecycle {
namespace {

std::string ReasonOf(const absl::Status& status) {
  const auto detail = muster::error::DetailOf(status);
  return detail ? detail->reason : "";
}

ApplyNodePool Apply(int64_t target) {
  ApplyNodePool command{.name = kSimPool, .new_uid = "uid-1", .target_nodes = target};
  command.spec.instance_type = "gd-8xa100-i128";
  return command;
}

TEST(Decide, ClusterKeepsItsZone) {
  Simulation sim;
  const auto changed =
      sim.Run(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04B"}});
  EXPECT_EQ(ReasonOf(changed.status()), "ZONE_CHANGED");
  const int64_t revision = sim.revision();
  EXPECT_TRUE(sim.Run(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04A"}}).ok());
  EXPECT_EQ(sim.revision(), revision);
}

TEST(Decide, ApplyIsIdempotentAndCountsGenerations) {
  Simulation sim;
  sim.Must(Apply(1));
  const int64_t revision = sim.revision();
  sim.Must(Apply(1));
  EXPECT_EQ(sim.revision(), revision);
  EXPECT_EQ(sim.pool()->generation, 1);
  sim.Must(Apply(2));
  EXPECT_EQ(sim.pool()->generation, 2);
  EXPECT_EQ(sim.pool()->uid, "uid-1");
}

TEST(Decide, ApplyRefusals) {
  Simulation sim;
  ApplyNodePool lost = Apply(1);
  lost.name = "organizations/acme/clusters/none/nodePools/p";
  EXPECT_EQ(ReasonOf(sim.Run(lost).status()), "NOT_FOUND");
  sim.Must(Apply(1));
  ApplyNodePool other_uid = Apply(1);
  other_uid.uid = "uid-2";
  EXPECT_EQ(ReasonOf(sim.Run(other_uid).status()), "UID_MISMATCH");
  ApplyNodePool taken_uid = Apply(1);
  taken_uid.name = std::string(kSimPool) + "2";
  taken_uid.uid = "uid-1";
  EXPECT_EQ(ReasonOf(sim.Run(taken_uid).status()), "UID_MISMATCH");
  ApplyNodePool old_etag = Apply(2);
  old_etag.etag = "1";
  EXPECT_EQ(ReasonOf(sim.Run(old_etag).status()), "ETAG_MISMATCH");
  sim.Delete();
  EXPECT_EQ(ReasonOf(sim.Run(Apply(2)).status()), "POOL_DELETING");
  EXPECT_EQ(ReasonOf(sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = 2}).status()),
            "POOL_DELETING");
}

struct Given {
  int64_t object_generation = 0;
  int64_t target = 1;
  bool deleting = false;
};
struct Expected {
  std::string refused = {};  // empty: accepted
  int64_t generation = 1;
  int64_t object_generation = 5;
  bool written = false;
};

// The pool has one Node, taken from the object's generation 5.
TEST(Decide, ObjectGenerationsFenceOldCopies) {
  constexpr bool kDeleting = true;
  const std::vector<std::pair<Given, Expected>> cases = {
      {{0, 1}, {"", 1, 5, false}},
      {{0, 2}, {"", 2, 5, true}},
      {{4, 1}, {"GENERATION_TOO_OLD"}},
      {{4, 2}, {"GENERATION_TOO_OLD"}},
      {{5, 1}, {"", 1, 5, false}},
      {{5, 2}, {"", 2, 5, true}},
      {{6, 1}, {"", 1, 6, true}},
      {{6, 2}, {"", 2, 6, true}},
      {{5 + kMaxGenerationJump, 1}, {"", 1, 5 + kMaxGenerationJump, true}},
      {{6 + kMaxGenerationJump, 1}, {"GENERATION_OUT_OF_RANGE"}},
      {{std::numeric_limits<int64_t>::max(), 2}, {"GENERATION_OUT_OF_RANGE"}},
      {{-1, 1}, {"INVALID_FIELD"}},
      {{0, 1, kDeleting}, {"POOL_DELETING"}},
      {{0, 2, kDeleting}, {"POOL_DELETING"}},
      {{4, 1, kDeleting}, {"GENERATION_TOO_OLD"}},
      {{4, 2, kDeleting}, {"GENERATION_TOO_OLD"}},
      {{5, 1, kDeleting}, {"", 1, 5, false}},
      {{5, 2, kDeleting}, {"POOL_DELETING"}},
      {{6, 1, kDeleting}, {"", 1, 6, true}},
      {{6, 2, kDeleting}, {"POOL_DELETING"}},
      {{-1, 1, kDeleting}, {"INVALID_FIELD"}},
  };
  for (const auto& [given, expected] : cases) {
    SCOPED_TRACE(absl::StrCat(given.object_generation, " ", given.target, " ", given.deleting));
    Simulation sim;
    ApplyNodePool command = Apply(1);
    command.object_generation = 5;
    sim.Must(command);
    EXPECT_EQ(sim.pool()->object_generation, 5);
    if (given.deleting) sim.Delete();
    const int64_t revision = sim.revision();
    const int64_t asks = sim.pool()->account.generation;
    command.target_nodes = given.target;
    command.object_generation = given.object_generation;
    for (const bool validate_only : {true, false}) {
      EXPECT_EQ(sim.revision(), revision);
      const auto outcome = sim.Run(command, validate_only);
      EXPECT_EQ(ReasonOf(outcome.status()), expected.refused);
      if (!outcome.ok()) continue;
      EXPECT_EQ(outcome->pool->generation, expected.generation);
      EXPECT_EQ(outcome->pool->object_generation, expected.object_generation);
    }
    EXPECT_EQ(sim.pool()->generation, expected.generation);
    EXPECT_EQ(sim.pool()->object_generation, expected.object_generation);
    EXPECT_EQ(sim.revision() != revision, expected.written);
    EXPECT_EQ(sim.pool()->account.generation,
              given.target == 2 && expected.written ? asks + 1 : asks);
    EXPECT_EQ(sim.pool()->deleting(), given.deleting);
  }
}

TEST(Decide, ANewPoolBeginsNearZero) {
  Simulation sim;
  ApplyNodePool command = Apply(1);
  command.object_generation = kMaxGenerationJump + 1;
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "GENERATION_OUT_OF_RANGE");
  command.object_generation = kMaxGenerationJump;
  sim.Must(command);
}

TEST(Decide, ObjectGenerationsThatAreRefusedAreNamed) {
  Simulation sim;
  ApplyNodePool command = Apply(-1);
  command.object_generation = -1;
  const auto faults = muster::error::DetailOf(sim.Run(command).status())->fields;
  ASSERT_EQ(faults.size(), 2U);  // every fault
  EXPECT_EQ(faults[1].field, "node_pool.object_generation");
  command = Apply(1);
  command.object_generation = 3;
  sim.Must(command);
  command.object_generation = 2;
  const auto status = sim.Run(command).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(muster::error::DetailOf(status)->resource, kSimPool);
  EXPECT_EQ(muster::error::DetailOf(status)->metadata.at("last_generation"), "3");
}

// The same spec seen at a later generation: nothing is planned, nothing published anew.
TEST(Decide, ALaterObjectGenerationMovesNothingElse) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Settle());
  const Pool before = *sim.pool();
  ApplyNodePool command = sim.Applied([](Spec&) {});
  command.object_generation = 9;
  sim.Must(command);
  EXPECT_FALSE(sim.Pass());
  Pool expected = before;
  expected.object_generation = 9;
  EXPECT_EQ(*sim.pool(), expected);
}

TEST(Decide, ValidateOnlyAnswersAndWritesNothing) {
  Simulation sim;
  const int64_t revision = sim.revision();
  const auto outcome = sim.Run(Apply(3), true);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->pool->spec.target_nodes, 3);
  EXPECT_EQ(sim.revision(), revision);
  EXPECT_EQ(sim.pool(), nullptr);
}

TEST(Decide, ResizeNamesItsOwnField) {
  Simulation sim;
  sim.Must(Apply(1));
  const auto status = sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = -1}).status();
  EXPECT_EQ(muster::error::DetailOf(status)->fields[0].field, "target_nodes");
}

TEST(Decide, DeleteIsIdempotent) {
  Simulation sim;
  EXPECT_EQ(ReasonOf(sim.Run(DeleteNodePool{.name = kSimPool}).status()), "NOT_FOUND");
  EXPECT_TRUE(sim.Run(DeleteNodePool{.name = kSimPool, .allow_missing = true}).ok());
  sim.Must(Apply(1));
  sim.Delete();
  const int64_t revision = sim.revision();
  sim.Delete();
  EXPECT_EQ(sim.revision(), revision);
}

TEST(Decide, PlansOfTheOutdatedAndOfOldLeadersAreRefused) {
  Simulation sim;
  sim.Must(Apply(1));
  ApplyPlan plan{.pool = kSimPool,
                 .uid = "uid-1",
                 .version = sim.state().VersionOf(kSimPool),
                 .holder = "a",
                 .epoch = 1,
                 .actions = {EmitEvent{"CWNodePoolMetadata", "m"}}};
  ApplyPlan old_version = plan;
  --old_version.version;
  EXPECT_EQ(ReasonOf(sim.Run(old_version).status()), "PLAN_OUTDATED");
  ApplyPlan other_pool = plan;
  other_pool.uid = "uid-2";
  EXPECT_EQ(ReasonOf(sim.Run(other_pool).status()), "PLAN_OUTDATED");
  EXPECT_EQ(ReasonOf(sim.Run(TakeLease{.holder = "b", .epoch = 1}).status()), "STALE_LEADER");
  sim.Must(TakeLease{.holder = "b", .epoch = 2});
  EXPECT_EQ(ReasonOf(sim.Run(plan).status()), "STALE_LEADER");
  plan.epoch = 2;
  EXPECT_EQ(ReasonOf(sim.Run(plan).status()), "STALE_LEADER") << "an epoch of a lost future";
  plan.holder = "b";
  EXPECT_TRUE(sim.Run(plan).ok());
}

TEST(Decide, OnlyTheNodesThatItChangesOutdateAPlan) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Settle());
  const std::string mine = *sim.machines().begin();
  const std::string other = *sim.machines().rbegin();
  const ApplyPlan plan{.pool = kSimPool,
                       .uid = "uid-1",
                       .version = sim.state().VersionOf(kSimPool),
                       .holder = "a",
                       .epoch = 1,
                       .actions = {StepNode{NodeName(kSimPool, mine), NodeEvent::kCordon},
                                   StepNode{NodeName(kSimPool, mine), NodeEvent::kDrain}}};
  sim.SetActive(mine, true);
  EXPECT_EQ(ReasonOf(sim.Run(plan).status()), "PLAN_OUTDATED");
  ApplyPlan again = plan;
  again.version = sim.state().VersionOf(kSimPool);
  sim.SetActive(other, true);
  EXPECT_TRUE(sim.Run(again).ok());
}

TEST(Decide, APlanThatFailsHalfwayLeavesNothing) {
  Simulation sim;
  sim.Must(Apply(1));
  const int64_t revision = sim.revision();
  const auto status = sim.Run(
      ApplyPlan{.pool = kSimPool,
                .uid = "uid-1",
                .version = sim.state().VersionOf(kSimPool),
                .holder = "a",
                .epoch = 1,
                .actions = {AssignNode{.machine = "g1", .gpu = true},
                            StepNode{std::string(kSimPool) + "/nodes/g1", NodeEvent::kDrain}}});
  EXPECT_EQ(status.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sim.revision(), revision);
  EXPECT_TRUE(sim.state().NodesOf(kSimPool).empty());
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

}  // namespace
}  // namespace muster::lifecycle
