// What a dry run says is what then happens.
#include "services/lifecycle/core/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::SizeIs;

// The other services as they are, asked what they would answer: on a copy.
class PeersCopy : public SimPeers {
 public:
  explicit PeersCopy(const SimPeers& peers) : SimPeers(peers) {}
  PeerReplies Answer(const Demand& demand, bool with_affinity) {
    PeerReplies answers;
    if (demand.holding) answers.holding = AskQuota(*demand.holding);
    if (demand.claim) answers.claim = AskCapacity(*demand.claim, with_affinity);
    if (demand.configuration) answers.configuration = AskConfiguration(*demand.configuration);
    return answers;
  }
};

class World : public Simulation {
 public:
  explicit World(uint64_t seed = 1) : Simulation(seed), random_(seed) {}

  bool leaderless = false;

  int Uniform(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool OneIn(int n) { return Uniform(n) == 0; }

  // As services/lifecycle/api/advisor.cc does it: what one pass was granted, nobody keeps for the
  // next.
  template <class Command>
  Preview Rehearse(const Command& command) {
    return lifecycle::Rehearse(*TryOut(command).dry_run, [&](const State& rows) {
      PeersCopy peers(*this);
      return LookAt(rows, peers);
    });
  }
  template <class Command>
  NodePreview RehearseNode(const Command& command) {
    const Tried tried = TryOut(command);
    PeersCopy peers(*this);
    return lifecycle::RehearseNode(*tried.dry_run, *tried.outcome.node,
                                   [&](const State& rows) { return LookAt(rows, peers); });
  }

  // Whatever kept Nodes from going ends, one after the other, until all is done.
  void EndAllWork() {
    for (int i = 0; i < 40; ++i) {
      for (const std::string& machine : NodeMachines()) SetActive(machine, false);
      Advance(absl::Minutes(11));
      if (!Converge()) std::abort();
    }
  }

  // A pool in some state, with work on its Nodes and some of them protected.
  void MakeUp() {
    limit = OneIn(3) ? Uniform(8) : 50;
    if (OneIn(2)) OthersTake(static_cast<size_t>(92 + Uniform(9)));
    const int target = Uniform(8);
    Apply([&](Spec& spec) {
      spec.target_nodes = target;
      spec.scale_down_strategy =
          OneIn(2) ? ScaleDownStrategy::kPreferIdle : ScaleDownStrategy::kIdleOnly;
      spec.max_unavailable = OneIn(3) ? "1" : OneIn(3) ? "50%" : "";
    });
    if (!Converge()) std::abort();
    for (const std::string& machine : NodeMachines()) {
      if (OneIn(3)) SetActive(machine, true, 1 + Uniform(5));
      if (OneIn(5))
        Must(UpdateNode{.name = NodeName(kSimPool, machine),
                        .protect_until_time = now() + absl::Hours(1)});
      Advance(absl::Seconds(Uniform(100)));
    }
    if (!Converge()) std::abort();
  }

 private:
  Snapshot LookAt(const State& rows, PeersCopy& peers) {
    Snapshot snapshot{rows.table<Cluster>().Find(kSimCluster), rows.table<Pool>().Find(kSimPool),
                      rows.NodesOf(kSimPool), rows.VersionOf(kSimPool), catalogue};
    snapshot.restored = SnapshotOf(rows, kSimPool)->restored;
    snapshot.policy = policy;
    snapshot.now = now();
    snapshot.loop.leaderless = leaderless;
    snapshot.obtainable = obtainable;
    snapshot.answers = peers.Answer(DemandOf(*snapshot.pool, snapshot.nodes, catalogue),
                                    !snapshot.pool->spec.node_affinity.empty());
    return snapshot;
  }

  std::mt19937_64 random_;
};

std::vector<std::string> Gone(const std::set<std::string>& before,
                              const std::set<std::string>& after) {
  std::vector<std::string> gone;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(gone));
  return gone;
}

std::string Describe(uint64_t seed) { return absl::StrCat("seed ", seed); }

// The charge and the machines that come at once; who goes, now and in the end.
TEST(Preview, OfAResizeIsWhatThenHappens) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    SCOPED_TRACE(Describe(seed));
    World world(seed);
    world.MakeUp();
    ResizeNodePool order{.name = kSimPool, .target_nodes = world.Uniform(10)};
    const std::set<std::string> before = world.NodeMachines();
    const int64_t granted = world.pool()->account.granted_nodes;
    for (const std::string& machine : before) {
      const auto surplus = static_cast<int64_t>(before.size()) - *order.target_nodes;
      const bool is_protected = world.node(machine)->protect_until_time != kNever;
      if (static_cast<int64_t>(order.remove_machines.size()) < surplus && !is_protected &&
          world.OneIn(4))
        order.remove_machines.push_back(machine);
    }
    const Preview told = world.Rehearse(order);
    world.Must(order);
    ASSERT_TRUE(world.Converge());
    if (told.more_nodes > 0) {
      ASSERT_TRUE(told.claim.here());
      const auto came = static_cast<int64_t>(world.machines().size() - before.size());
      ++seen[told.claim.value.outstanding == 0 ? "all at once" : "some wait"];
      EXPECT_EQ(static_cast<int64_t>(told.claim.value.machines.size()),
                static_cast<int64_t>(before.size()) + came);
    }
    const std::vector<std::string> gone = Gone(before, world.NodeMachines());
    EXPECT_THAT(gone, IsSubsetOf(told.victims));
    world.EndAllWork();
    const std::vector<std::string> in_the_end = Gone(before, world.NodeMachines());
    EXPECT_EQ(static_cast<int64_t>(in_the_end.size()), told.victim_count);
    if (told.waiting_victims == 0 && told.victim_count > 0) ++seen["nobody waits"];
    if (told.waiting_victims > 0) ++seen["some wait until they are idle"];
    const bool over = told.charge > std::max<int64_t>(world.limit, granted);
    EXPECT_EQ(world.holding(), over ? granted : told.charge);
    EXPECT_EQ(told.charge_delta, told.charge - granted);
    ++seen[over ? "over quota" : "under quota"];
    if (::testing::Test::HasFailure()) break;
  }
  for (const char* kind : {"all at once", "some wait", "nobody waits",
                           "some wait until they are idle", "over quota", "under quota"}) {
    EXPECT_GT(seen[kind], 50) << kind;
  }
}

// Those that are asked and not on the active configuration, and no others.
TEST(Preview, OfReconfigureRebootsIsWhatThenHappens) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(Describe(seed));
    World world(seed);
    world.Create(1 + world.Uniform(6));
    ASSERT_TRUE(world.Converge());
    const std::set<std::string> machines = world.NodeMachines();
    if (world.OneIn(2)) world.Stage(kNewerProfile);
    ASSERT_TRUE(world.Converge());
    ReconfigureNodePool order{.name = kSimPool};
    for (const std::string& machine : machines) {
      if (world.OneIn(4)) order.machines.push_back(machine);
    }
    const Preview told = world.Rehearse(order);
    world.Must(order);
    ASSERT_TRUE(world.Converge());
    int64_t rebooted = 0;
    for (const std::string& machine : machines) {
      const std::vector<std::string> events = world.ReasonsSince(0, machine);
      rebooted += std::count(events.begin(), events.end(), "CWReconfigureRebooted");
    }
    ASSERT_EQ(told.nodes_to_reboot, rebooted);
    ++seen[rebooted == 0 ? "none" : rebooted < std::ssize(machines) ? "some" : "all"];
  }
  for (const char* kind : {"none", "some", "all"}) EXPECT_GT(seen[kind], 30) << kind;
}

// Orders to single Nodes: what the next pass over the pool makes of them.
TEST(Preview, OfAnOrderToANodeIsWhatThenHappens) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 800; ++seed) {
    SCOPED_TRACE(Describe(seed));
    World world(seed);
    world.StopClock();
    world.MakeUp();
    const std::set<std::string> machines = world.NodeMachines();
    if (machines.empty()) continue;
    const auto any = [&] {
      return NodeName(
          kSimPool, *std::next(machines.begin(), world.Uniform(static_cast<int>(machines.size()))));
    };
    const auto order = [&](const std::string& node) {
      return OrderNode{.name = node,
                       .verb = static_cast<OrderNode::Verb>(world.Uniform(4)),
                       .force = world.OneIn(3),
                       .reboot = static_cast<Reboot>(1 + world.Uniform(3))};
    };
    if (world.OneIn(2)) (void)world.Run(order(any()));
    if (world.OneIn(2) && !world.Converge()) FAIL();
    const OrderNode asked = order(any());
    if (!world.Run(asked, /*validate_only=*/true).ok()) continue;
    const NodePreview told = world.RehearseNode(asked);
    const Node before = *world.node(ParseNodeName(asked.name)->machine);
    world.Must(asked);
    world.Pass();
    const Node after = *world.node(ParseNodeName(asked.name)->machine);
    EXPECT_EQ(told.node.desired, after.desired);
    EXPECT_EQ(told.node.state, after.state);
    for (const Obstacle& obstacle : told.obstacles) {
      EXPECT_EQ(obstacle.subject, asked.name);
      ++seen[obstacle.reason];
    }
    const bool reboots =
        after.state == NodeState::kReconfiguring && before.state != NodeState::kReconfiguring;
    if (reboots) ++seen["reboots at once"];
    if (after.desired.drain && !before.desired.drain) ++seen["drains at once"];
  }
  for (const char* kind :
       {"reboots at once", "drains at once", "DISRUPTION_BUDGET", "WAITS_UNTIL_IDLE"})
    EXPECT_GT(seen[kind], 3) << kind;
}

// An order is taken of a Node that is on its way up, and waits for that, also one by force.
TEST(Preview, OfADrainOfANodeThatBoots) {
  for (const bool force : {false, true}) {
    SCOPED_TRACE(force);
    World world;
    world.Create(1);
    ASSERT_TRUE(world.Converge());
    world.StopClock();
    world.stuck = {"g101"};
    world.Resize(2);
    world.Drive();
    const OrderNode drain{
        .name = NodeName(kSimPool, "g101"), .verb = OrderNode::Verb::kDrain, .force = force};
    const NodePreview told = world.RehearseNode(drain);
    ASSERT_EQ(told.obstacles.size(), 1);
    EXPECT_EQ(told.obstacles[0].reason, "WAITS_FOR_REBOOT");
    EXPECT_EQ(told.obstacles[0].message, "Node g101 is drained once it is up.");
    EXPECT_EQ(told.obstacles[0].latest,
              world.node("g101")->desired.phase_time + world.policy.boot_deadline);
    EXPECT_FALSE(told.node.desired.drain);
    world.Must(drain);
    world.stuck.clear();
    world.Drive();
    EXPECT_TRUE(world.node("g101")->desired.drain);
  }
}

// It may run what it was told to in the part that was lost: it is switched off first.
TEST(Preview, OfAnOrderToANodeThatGoesUnbootedAfterARestore) {
  World world;
  world.configuration_away = true;  // nothing to boot is known
  world.Create(1);
  ASSERT_TRUE(world.Converge());
  world.Must(TakeLease{.holder = "a", .epoch = 2, .incarnation = "restored"});
  ASSERT_TRUE(world.Converge());
  const std::string machine = *world.NodeMachines().begin();
  ASSERT_EQ(world.node(machine)->desired.phase, Phase::kUndecided);
  world.Resize(0);
  const OrderNode cordon{.name = NodeName(kSimPool, machine), .verb = OrderNode::Verb::kCordon};
  const NodePreview told = world.RehearseNode(cordon);
  EXPECT_EQ(told.node.state, NodeState::kPreparedForTerminate);
  world.Must(cordon);
  world.Pass();
  EXPECT_EQ(world.node(machine)->state, told.node.state);
}

TEST(Preview, OfAnOrderToANodeWhereNobodyReconciles) {
  World world;
  world.Create(1);
  ASSERT_TRUE(world.Converge());
  const std::string machine = *world.NodeMachines().begin();
  const OrderNode drain{.name = NodeName(kSimPool, machine), .verb = OrderNode::Verb::kDrain};
  EXPECT_TRUE(world.RehearseNode(drain).obstacles.empty()) << "its cordon is no obstacle";
  world.leaderless = true;
  const NodePreview told = world.RehearseNode(drain);
  ASSERT_EQ(told.obstacles.size(), 1);
  EXPECT_EQ(told.obstacles[0].reason, "NO_LEADER");
}

// --- one by one ---

// Quota refuses the target with what comes early, and grants it without: more is asked of capacity
// then.
TEST(Preview, OfATargetThatFitsWithoutWhatComesEarly) {
  for (const bool gang : {false, true}) {
    SCOPED_TRACE(gang);
    World world;
    world.Create(4);
    ASSERT_TRUE(world.Converge());
    world.SetActive("g100", true);
    world.stuck = {"g101", "g102", "g103"};
    world.Resize(1);
    ASSERT_TRUE(world.Converge());
    world.Apply([&](Spec& spec) { spec.gang = gang; });
    ASSERT_TRUE(world.Converge());
    world.limit = 10;
    world.OthersTake(96);
    world.Resize(4);
    ASSERT_TRUE(world.Converge());
    ASSERT_EQ(world.pool()->account.prefill_nodes, 3);
    const int64_t before = world.pool()->account.requested_nodes;
    ASSERT_EQ(world.holding(), 7);
    const Preview told = world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 10});
    world.Resize(10);
    ASSERT_TRUE(world.Converge());
    ASSERT_EQ(world.pool()->account.requested_nodes, 10);
    EXPECT_EQ(told.more_nodes, 10 - before);
    EXPECT_TRUE(told.claim.here());
    EXPECT_EQ(told.charge, 10);
  }
}

// Names stand until their Nodes left, and fall when the target rises: also those of before.
TEST(Preview, OfVictimsThatWereNamedBefore) {
  World world;
  world.Create(4);
  ASSERT_TRUE(world.Converge());
  world.SetActive("g100", true);
  world.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g100"}});
  ASSERT_TRUE(world.Converge());
  const Preview told = world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 2});
  EXPECT_THAT(told.victims, ::testing::Contains("g100"));
  EXPECT_EQ(told.victim_count, 2);
  EXPECT_EQ(told.waiting_victims, 1);
  const Preview raised =
      world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 4, .remove_machines = {}});
  EXPECT_EQ(raised.victim_count, 0);
}

// What came early for others that drain is wanted no more: who it was to come for may be one too
// many.
TEST(Preview, OfVictimsOfATargetThatNeedsNobodyEarly) {
  World world;
  world.Create(4);
  ASSERT_TRUE(world.Converge());
  world.SetActive("g100", true);
  world.stuck = {"g101", "g102", "g103"};
  world.Resize(1);
  ASSERT_TRUE(world.Converge());
  world.OthersTake(95);  // all but g199
  world.Resize(4);
  ASSERT_TRUE(world.Converge());
  ASSERT_NE(world.node("g199"), nullptr);
  ASSERT_EQ(world.pool()->account.prefill_nodes, 3);
  const Preview none = world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 0});
  EXPECT_THAT(none.victims, ::testing::ElementsAre("g199", "g100"));
  EXPECT_EQ(none.victim_count, 2);
  EXPECT_EQ(none.waiting_victims, 1);
  const ResizeNodePool order{.name = kSimPool, .target_nodes = 1};
  const Preview told = world.Rehearse(order);
  EXPECT_THAT(told.victims, ::testing::ElementsAre("g199"));
  EXPECT_EQ(told.waiting_victims, 0);
  world.Must(order);
  ASSERT_TRUE(world.Converge());
  EXPECT_THAT(world.NodeMachines(), ::testing::ElementsAre("g100", "g101", "g102", "g103"));
}

// Nor has one that is ill to wait for its replacement then.
TEST(Preview, OfAVictimThatWaitsForItsReplacement) {
  World world;
  world.Apply([](Spec& spec) {
    spec.target_nodes = 3;
    spec.prefill = Prefill{true, 600, 1};
  });
  ASSERT_TRUE(world.Converge());
  world.OthersTake(200);
  ASSERT_TRUE(world.Report("g101", Simulation::O::kUnhealthy).ok());
  ASSERT_TRUE(world.Converge());
  world.Advance(world.policy.triage_grace);
  ASSERT_TRUE(world.Converge());
  ASSERT_EQ(world.pool()->account.prefill_nodes, 1);
  ASSERT_EQ(world.node("g101")->state, NodeState::kTriage);
  const ResizeNodePool order{.name = kSimPool, .target_nodes = 2};
  const Preview told = world.Rehearse(order);
  EXPECT_THAT(told.victims, ::testing::ElementsAre("g101"));
  EXPECT_EQ(told.victim_count, 1);
  EXPECT_EQ(told.charge, 2);
  world.Must(order);
  ASSERT_TRUE(world.Converge());
  EXPECT_THAT(world.NodeMachines(), ::testing::ElementsAre("g100", "g102"));
}

// Who is named goes, though the target could be met by one that leaves to be replaced: also if that
// one leaves only then.
TEST(Preview, OfAVictimThatIsNamedWhileAnotherLeavesToBeReplaced) {
  for (const bool busy : {false, true}) {
    for (const bool leaves : {false, true}) {
      SCOPED_TRACE(absl::StrCat(busy, leaves));
      World world;
      world.Create(3);
      ASSERT_TRUE(world.Converge());
      world.stuck = {"g100"};
      world.SetActive("g102", busy);
      ASSERT_TRUE(world.Report("g100", Simulation::O::kUnhealthy).ok());
      ASSERT_TRUE(world.Converge());
      world.Advance(world.policy.triage_grace);
      if (leaves) {
        ASSERT_TRUE(world.Converge());
      }
      ASSERT_EQ(world.node("g100")->state, leaves ? NodeState::kDraining : NodeState::kTriage);
      const ResizeNodePool order{.name = kSimPool, .remove_machines = {"g102"}};
      const Preview told = world.Rehearse(order);
      EXPECT_THAT(told.victims, ::testing::ElementsAre("g102"));
      EXPECT_EQ(told.victim_count, 1);
      EXPECT_EQ(told.waiting_victims, busy ? 1 : 0);
      EXPECT_EQ(told.charge, 2);
      EXPECT_EQ(told.more_nodes, 0);
      world.Must(order);
      ASSERT_TRUE(world.Converge());
      EXPECT_EQ(world.NodeMachines().contains("g102"), busy);
      world.OthersTake(1);
      world.stuck.clear();
      world.EndAllWork();
      EXPECT_THAT(Gone({"g100", "g101", "g102"}, world.NodeMachines()),
                  ::testing::ElementsAre("g100", "g102"));
      EXPECT_EQ(world.holding(), told.charge);
    }
  }
}

// Of a type that is granted in whole racks: a rack, and not who is idle on the other one.
TEST(Preview, OfVictimsByRack) {
  World world;
  world.rack_size = 4;  // g100 to g103, g104 to g107
  world.catalogue.type->nodes_per_rack = 4;
  world.Create(8);
  ASSERT_TRUE(world.Converge());
  for (const char* machine : {"g101", "g105", "g106"}) world.SetActive(machine, true);
  const ResizeNodePool order{.name = kSimPool, .target_nodes = 4};
  const Preview told = world.Rehearse(order);
  EXPECT_THAT(told.victims, ::testing::ElementsAre("g100", "g102", "g103", "g101"));
  EXPECT_EQ(told.waiting_victims, 1);
  world.Must(order);
  ASSERT_TRUE(world.Converge());
  EXPECT_THAT(world.NodeMachines(), ::testing::ElementsAre("g101", "g104", "g105", "g106", "g107"));
}

// Those that are named are on two racks, of which one leaves whole: the other one is filled again.
TEST(Preview, OfVictimsOnTwoRacks) {
  for (const bool bounded : {false, true}) {
    SCOPED_TRACE(bounded);
    World world;
    world.rack_size = 4;  // g100 to g103, g104 to g107
    world.catalogue.type->nodes_per_rack = 4;
    world.Apply([&](Spec& spec) {
      spec.target_nodes = 8;
      if (bounded) spec.max_unavailable = "1";
    });
    ASSERT_TRUE(world.Converge());
    const std::set<std::string> before = world.NodeMachines();
    const size_t begin = world.told().size();
    const ResizeNodePool order{.name = kSimPool,
                               .target_nodes = 4,
                               .type = world.catalogue.type,
                               .remove_machines = {"g100", "g104"}};
    const Preview told = world.Rehearse(order);
    EXPECT_EQ(told.charge, 4);
    world.Must(order);
    ASSERT_TRUE(world.Converge());
    std::set<std::string> went;
    for (const std::string& machine : before) {
      const std::vector<std::string> reasons = world.ReasonsSince(begin, machine);
      if (std::count(reasons.begin(), reasons.end(), "CWNodePreparedForTerminate") > 0)
        went.insert(machine);
    }
    EXPECT_THAT(went, SizeIs(5)) << "a rack, and the one that is named of the other";
    EXPECT_THAT(told.victims, ::testing::UnorderedElementsAreArray(went));
    EXPECT_EQ(told.victim_count, 5);
    EXPECT_THAT(world.NodeMachines(), SizeIs(4));
  }
}

// Nobody goes for Nodes that are not the pool's, while capacity does not say which these are.
TEST(Preview, OfVictimsWhileAMachineIsNotHeldAndCapacityIsAway) {
  World world;
  world.Create(3);
  ASSERT_TRUE(world.Converge());
  world.Forget("g101");
  ASSERT_TRUE(world.Converge());
  world.capacity_away = true;
  const std::set<std::string> before = world.NodeMachines();
  ASSERT_THAT(before, SizeIs(4));
  const ResizeNodePool order{.name = kSimPool, .target_nodes = 2};
  const Preview told = world.Rehearse(order);
  EXPECT_THAT(told.victims, IsEmpty());
  EXPECT_EQ(told.victim_count, 0);
  world.Must(order);
  ASSERT_TRUE(world.Converge());
  EXPECT_EQ(world.NodeMachines(), before);
}

// What is missing because drains began is asked for at once, and quota has to allow the target.
TEST(Preview, OfARiseWhileNodesLeave) {
  World world;
  world.limit = 4;
  world.Create(4, ScaleDownStrategy::kPreferIdle);
  ASSERT_TRUE(world.Converge());
  for (const char* machine : {"g100", "g101", "g102"}) {
    world.SetActive(machine, true);
    world.blocked_by[machine] = "default/web";
  }
  world.Resize(1);
  ASSERT_TRUE(world.Converge());
  const Preview full = world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 4});
  EXPECT_EQ(full.charge, 4);
  EXPECT_EQ(full.charge_delta, 1) << "one has gone, two are drained";
  world.limit = 50;
  const Preview told = world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 4});
  const auto before = std::ssize(world.machines());
  world.Resize(4);
  ASSERT_TRUE(world.Converge());
  EXPECT_EQ(told.more_nodes, std::ssize(world.machines()) - before);
  EXPECT_GT(told.more_nodes, 0);
}

// As the status tells it then: of the machines that match, and of a valid pool alone.
TEST(Preview, OfWhatAnAutoscaledPoolWouldBeGranted) {
  World world;
  world.obtainable = 40;
  world.matching = {"g100", "g101", "g102"};
  const ApplyNodePool order = world.Applied([](Spec& spec) {
    WantRowSeven(spec, 1);
    spec.autoscaling = true;
    spec.max_nodes = 30;
  });
  const Preview told = world.Rehearse(order);
  EXPECT_EQ(told.grantable, (Grantable{3, "Capacity"}));
  world.Must(order);
  ASSERT_TRUE(world.Converge());
  EXPECT_EQ(world.pool()->status.grantable, told.grantable);
  EXPECT_EQ(world.Rehearse(DeleteNodePool{.name = kSimPool}).grantable, std::nullopt);
  world.catalogue.offered = false;
  const Preview invalid = world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 2});
  EXPECT_NE(invalid.invalid, "");
  EXPECT_EQ(invalid.grantable, std::nullopt);
}

// Nodes that go are not rebooted, nor those that no one names.
TEST(Preview, OfRebootsCountsThoseThatStayAndAreAsked) {
  World world;
  world.Create(3);
  ASSERT_TRUE(world.Converge());
  world.Stage(kNewerProfile);
  ASSERT_TRUE(world.Converge());
  EXPECT_EQ(world.Rehearse(ResizeNodePool{.name = kSimPool, .target_nodes = 1}).nodes_to_reboot, 1);
  EXPECT_EQ(
      world.Rehearse(ReconfigureNodePool{.name = kSimPool, .machines = {"g101"}}).nodes_to_reboot,
      1);
  world.Must(ReconfigureNodePool{.name = kSimPool, .machines = {"g101"}});
  ASSERT_TRUE(world.Converge());
  EXPECT_EQ(
      world.Rehearse(ReconfigureNodePool{.name = kSimPool, .machines = {"g101"}}).nodes_to_reboot,
      0)
      << "it is on the active configuration; the others are not asked";
}

// Also of what is active only once Nodes that are mid-delivery have booted, whether or not the
// others are outdated already.
TEST(Preview, OfRebootsWhileAPromotionWaits) {
  for (const bool outdated : {false, true}) {
    SCOPED_TRACE(outdated);
    World world;
    world.Create(3);
    ASSERT_TRUE(world.Converge());
    if (outdated) world.Stage(kNewerProfile);
    ASSERT_TRUE(world.Converge());
    world.stuck = {"g103"};
    world.Resize(4);
    ASSERT_TRUE(world.Converge());
    world.Pend("np-000000000003");
    world.Promote();
    world.Resize(5);
    ASSERT_TRUE(world.Converge());
    ASSERT_EQ(world.node("g104")->desired.phase, Phase::kUndecided) << "it boots what is promoted";
    const ReconfigureNodePool order{.name = kSimPool};
    const Preview told = world.Rehearse(order);
    EXPECT_EQ(told.nodes_to_reboot, 4);
    world.Must(order);
    ASSERT_TRUE(world.Converge());
    world.stuck.clear();
    ASSERT_TRUE(world.Converge());
    EXPECT_EQ(world.pool()->reconfiguration->rebooted_nodes, told.nodes_to_reboot);
  }
}

}  // namespace
}  // namespace muster::lifecycle
