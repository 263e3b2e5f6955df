// The small parts: names, metadata, victims, events, the state's indexes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/core/state.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";

TEST(Names, ThereAndBack) {
  const auto node = ParseNodeName("organizations/acme/clusters/c1/nodePools/a.b/nodes/g8fd930");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(NodeName(PoolName(node->pool), node->machine),
            "organizations/acme/clusters/c1/nodePools/a.b/nodes/g8fd930");
  EXPECT_FALSE(ParsePoolName("organizations/acme/clusters/c1/nodePools/A"));
  EXPECT_FALSE(ParsePoolName("organizations/acme/clusters/c1/nodePools/" + std::string(64, 'a')));
  EXPECT_FALSE(ParseClusterName("organizations/acme/clusters/-"));
  EXPECT_EQ(ClusterNameOf(kPool), "organizations/acme/clusters/c1");
  EXPECT_EQ(PoolNameOf(NodeName(kPool, "g1")), kPool);
  EXPECT_EQ(OrganizationOf(kPool), "acme");
  EXPECT_EQ(LastIdOf(kPool), "train");
}

TEST(Names, EventIdsNeverChange) {
  EXPECT_EQ(EventId("u", "o", "r", "m").size(), 32U);
  EXPECT_EQ(EventId("u", "o", "r", "m"), EventId("u", "o", "r", "m"));
  EXPECT_NE(EventId("u", "o", "rm", ""), EventId("u", "o", "r", "m"));
}

Pool SomePool() {
  Pool pool{.name = kPool, .uid = "uid-1", .zone = "US-EAST-04A"};
  pool.spec.instance_type = "gd-8xa100-i128";
  pool.spec.node_labels = {{"team", "ml"}};
  pool.spec.node_taints = {{"team", "ml", "NoSchedule"}};
  return pool;
}

TEST(Metadata, InProduction) {
  const Metadata metadata =
      DesiredMetadata(SomePool(), Node{.state = NodeState::kProduction}, true);
  EXPECT_THAT(metadata.labels,
              ElementsAre(Pair("compute.coreweave.com/compute-class", "default"),
                          Pair("compute.coreweave.com/node-pool", "train"),
                          Pair("compute.coreweave.com/node-pool-uid", "uid-1"),
                          Pair("node.coreweave.cloud/reserved", "acme"),
                          Pair("node.coreweave.cloud/reserved-desired", "acme"),
                          Pair("node.coreweave.cloud/state", "production"),
                          Pair("node.kubernetes.io/instance-type", "gd-8xa100-i128"),
                          Pair("node.kubernetes.io/type", "gd-8xa100-i128"), Pair("team", "ml"),
                          Pair("topology.kubernetes.io/region", "US-EAST-04"),
                          Pair("topology.kubernetes.io/zone", "US-EAST-04A")));
  EXPECT_THAT(metadata.taints, ElementsAre(Taint{"team", "ml", "NoSchedule"},
                                           Taint{"is_gpu", "true", "PreferNoSchedule"}));
}

TEST(Metadata, ReservedSaysWhoMayUseTheNode) {
  const auto of = [](NodeState state, const char* key) {
    return DesiredMetadata(SomePool(), Node{.state = state}, false)
        .labels.at(std::string("node.coreweave.cloud/") + key);
  };
  EXPECT_EQ(of(NodeState::kBooting, "state"), "zap");
  EXPECT_EQ(of(NodeState::kBooting, "reserved"), "control-plane");
  EXPECT_EQ(of(NodeState::kBooting, "reserved-desired"), "acme");
  EXPECT_EQ(of(NodeState::kTriage, "reserved"), "triage");
  EXPECT_EQ(of(NodeState::kReconfiguring, "state"), "production-reboot");
  EXPECT_EQ(of(NodeState::kDraining, "reserved"), "acme");
  EXPECT_EQ(of(NodeState::kPreparedForTerminate, "reserved"), "zap");
  EXPECT_THAT(
      DesiredMetadata(SomePool(), Node{.state = NodeState::kTriage}, false).taints,
      ElementsAre(Taint{"team", "ml", "NoSchedule"}, Taint{"is_cpu_compute", "", "NoSchedule"},
                  Taint{"node.coreweave.cloud/reserved", ReservedHash("triage"), "NoExecute"}));
}

Node N(const char* name, NodeState state, bool active = false, int seconds = 0, int pods = 1) {
  Node node{.name = name, .state = state, .create_time = absl::FromUnixSeconds(seconds)};
  node.observed.active = active;
  if (active) node.observed.active_pods.resize(static_cast<size_t>(pods));
  return node;
}

TEST(Victims, Order) {
  std::vector<Node> nodes = {
      N("leaving", NodeState::kDraining),
      N("failed", NodeState::kDeliveryFailed),
      N("busy-new", NodeState::kProduction, true, 9),
      N("busy-old", NodeState::kProduction, true, 1),
      N("busier", NodeState::kProduction, true, 99, 5),
      N("idle-short", NodeState::kProduction, false, 8),
      N("idle-long", NodeState::kProduction, false, 2),
      N("triage", NodeState::kTriage),
      N("registered", NodeState::kRegistered),
      N("assigned", NodeState::kAssigned),
      N("marked", NodeState::kProduction),
  };
  nodes.back().observed.autoscaler_marked = true;
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  std::vector<std::string> names;
  for (const Node* node : VictimsInOrder(all)) names.push_back(node->name);
  EXPECT_THAT(names, ElementsAre("marked", "assigned", "registered", "triage", "idle-long",
                                 "idle-short", "busy-new", "busy-old", "busier"));
}

TEST(Events, EqualOnesAreCounted) {
  State state;
  Overlay<State> overlay(state, 0);
  EventLog log(overlay, absl::FromUnixSeconds(1));
  log.Emit("uid-1", kPool, "CWOverQuota", "m");
  log.Emit("uid-1", kPool, "CWOverQuota", "m");
  log.Emit("uid-1", kPool, "CWNodeAssigned", "m");
  ASSERT_EQ(state.table<Event>().size(), 2U);
  const Event& counted = *state.table<Event>().Find(
      EventName(ClusterNameOf(kPool), EventId("uid-1", kPool, "CWOverQuota", "m")));
  EXPECT_EQ(counted.count, 2);
  EXPECT_EQ(counted.type, "Warning");
  EXPECT_EQ(counted.first_time, absl::FromUnixSeconds(1));
  EXPECT_EQ(counted.last_time, absl::FromUnixSeconds(1) + absl::Microseconds(1));
}

TEST(Events, TheOldestGoes) {
  State state;
  Overlay<State> overlay(state, 0);
  EventLog log(overlay, absl::FromUnixSeconds(1));
  for (size_t i = 0; i < kMaxEventsAPool + 5; ++i) {
    log.Emit("uid-1", kPool, "CWNodeAssigned", std::to_string(i));
  }
  EXPECT_EQ(state.table<Event>().size(), kMaxEventsAPool - kForgottenEvents + 5);
  EXPECT_EQ(state.EventsOf("uid-1")->size(), kMaxEventsAPool - kForgottenEvents + 5);
  EXPECT_EQ(state.table<Event>().Find(
                EventName(ClusterNameOf(kPool), EventId("uid-1", kPool, "CWNodeAssigned", "99"))),
            nullptr);
}

TEST(State, IndexesFollowAndGoBack) {
  State state;
  Overlay<State> overlay(state, 0);
  overlay.Put(SomePool());
  overlay.Put(Node{.name = NodeName(kPool, "g1")});
  Pool neighbour = SomePool();
  neighbour.name += ".b";
  neighbour.uid = "uid-2";
  overlay.Put(neighbour);
  overlay.Put(Node{.name = NodeName(neighbour.name, "g2")});
  EXPECT_EQ(state.NodesOf(kPool).size(), 1U);
  EXPECT_EQ(state.VersionOf(kPool), 2);
  EXPECT_EQ(state.VersionOf(neighbour.name), 4);
  EXPECT_EQ(state.FindPoolByUid("uid-2")->name, neighbour.name);
  EXPECT_EQ(state.PoolsOnQuota("acme", "US-EAST-04A", "gd-8xa100-i128", "default")->size(), 2U);
  const auto short_of = [&] {
    const State::Names* names =
        state.PoolsShortOfQuota("acme", "US-EAST-04A", "gd-8xa100-i128", "default");
    return names == nullptr ? 0U : names->size();
  };
  const auto waiting = [&] {
    const State::Names* names = state.PoolsShortOfCapacity("US-EAST-04A", "gd-8xa100-i128");
    return names == nullptr ? 0U : names->size();
  };
  EXPECT_EQ(short_of(), 2U);
  EXPECT_EQ(waiting(), 2U);
  Pool content = SomePool();
  content.status.conditions = {{"Quota", "True", "Under", "", kNever, 1},
                               {"Capacity", "Unknown", "Queued", "", kNever, 1}};
  overlay.Put(content);
  EXPECT_EQ(short_of(), 1U);
  EXPECT_EQ(waiting(), 2U);
  content.status.conditions[1].reason = "Sufficient";
  overlay.Put(content);
  EXPECT_EQ(waiting(), 1U);
  overlay.RollBack();
  EXPECT_EQ(short_of(), 0U);
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(state.FindPoolByUid("uid-1"), nullptr);
  EXPECT_EQ(state.PoolsOnQuota("acme", "US-EAST-04A", "gd-8xa100-i128", "default"), nullptr);
  EXPECT_EQ(state.VersionOf(kPool), 0);
}

TEST(Budget, NodesThatAreGoneAlreadyAreNoPartOfAPercentage) {
  std::vector<Node> nodes(8, Node{.state = NodeState::kProduction});
  for (size_t i = 5; i < 8; ++i) nodes[i].state = NodeState::kDeleted;
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  EXPECT_EQ(Budget("25%", 2, all).limit(), 1);
  EXPECT_EQ(Budget("25%", 8, all).limit(), 2);
}

TEST(Plan, AMachineThatWasRepairedAndGrantedAgainBecomesANewNode) {
  const Cluster cluster;
  Pool pool = SomePool();
  pool.spec.target_nodes = pool.account.requested_nodes = pool.account.granted_nodes = 1;
  Node node{.name = NodeName(pool.name, "g1"), .machine = "g1", .pool_uid = pool.uid};
  node.state = NodeState::kDeliveryFailed;
  Snapshot snapshot{&cluster, &pool, {&node}, 1, {true, TypeFacts{.gpus = 8}, true, true}};
  snapshot.now = absl::FromUnixSeconds(1'750'000'000);
  snapshot.answers.claim.state = Answer<ClaimAnswer>::State::kHere;
  snapshot.answers.claim.value.nodes = 1;
  snapshot.answers.claim.value.machines = {"g1"};
  const std::vector<Action> actions = Plan(snapshot).actions;
  ASSERT_GE(actions.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<PurgeNode>(actions[0]));
  EXPECT_TRUE(std::holds_alternative<AssignNode>(actions[1]));
}

}  // namespace
}  // namespace muster::lifecycle
