#include "services/lifecycle/core/etag.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/testing/decide.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

TEST(Etag, OfAPoolStaysWhileOnlyItsStatusMoves) {
  Simulation sim;
  sim.Create(2);
  const std::string etag = EtagOf(*sim.pool());
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(EtagOf(*sim.pool()), etag);
  ResizeNodePool command{.name = kSimPool, .target_nodes = 3, .etag = etag};
  sim.Must(command);
  EXPECT_NE(EtagOf(*sim.pool()), etag);
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "")
      << "it is so, see OfBeforeIsTakenOfARepetition";
  command.target_nodes = 4;
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "ETAG_MISMATCH");
}

TEST(Etag, OfAPoolChangesWithItsDeletion) {
  Running sim(1);
  const std::string etag = EtagOf(*sim.pool());
  sim.Delete();
  EXPECT_NE(EtagOf(*sim.pool()), etag);
}

// Clients keep them over releases and restarts.
TEST(Etag, IsTheSameInEveryProcess) {
  Pool pool{.uid = "u"};
  pool.spec.instance_type = "gd-8xa100-i128";
  EXPECT_EQ(EtagOf(pool), "0b564b95924ed6ff");
}

TEST(Etag, OfANodeIsOfWhatItsOwnerWrites) {
  Running sim(1);
  const Node node = *sim.node(*sim.machines().begin());
  const std::string etag = EtagOf(node);
  sim.SetActive(node.machine, true);
  EXPECT_EQ(EtagOf(*sim.node(node.machine)), etag);
  UpdateNode command{
      .name = node.name, .etag = etag, .protect_until_time = sim.now() + absl::Hours(1)};
  sim.Must(command);
  EXPECT_NE(EtagOf(*sim.node(node.machine)), etag);
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "")
      << "it is so, see OfBeforeIsTakenOfARepetition";
  command.protect_until_time = kNever;
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "ETAG_MISMATCH");
}

TEST(Etag, OfANodeThatIsProtectedForCenturiesIsItsOwn) {
  const auto etag = [](absl::Time until) {
    return EtagOf(Node{.pool_uid = "u", .protect_until_time = until});
  };
  const auto at = [](int year) {
    return absl::FromCivil(absl::CivilSecond(year, 1, 1), absl::UTCTimeZone());
  };
  std::set<std::string> etags;
  for (const absl::Time until :
       {kNever, at(2300), at(2300) + absl::Seconds(1), at(9999), at(1600), absl::InfinitePast()})
    etags.insert(etag(until));
  EXPECT_EQ(etags.size(), 6u);
}

// Whose answer was lost repeats what was sent: what is so already is not refused.
TEST(Etag, OfBeforeIsTakenOfARepetition) {
  using Verb = OrderNode::Verb;
  Running sim(2);
  const Node& node = *sim.state().NodesOf(kSimPool).front();
  const std::string name = node.name;
  const std::string machine = node.machine;
  const std::string other = sim.state().NodesOf(kSimPool).back()->machine;
  const auto run_twice = [&](const auto& command) {
    sim.Must(command);
    const int64_t revision = sim.revision();
    EXPECT_EQ(sim.Run(command).status(), absl::OkStatus());
    EXPECT_EQ(sim.revision(), revision);
  };
  for (const Verb verb : {Verb::kCordon, Verb::kDrain, Verb::kUncordon}) {
    const OrderNode order{.name = name, .etag = EtagOf(*sim.node(machine)), .verb = verb};
    run_twice(order);
    EXPECT_NE(EtagOf(*sim.node(machine)), order.etag);
  }
  run_twice(UpdateNode{.name = name,
                       .etag = EtagOf(*sim.node(machine)),
                       .protect_until_time = sim.now() + absl::Hours(1),
                       .reserved_desired = kControlPlane});
  run_twice(ResizeNodePool{.name = kSimPool, .target_nodes = 3, .etag = EtagOf(*sim.pool())});
  run_twice(ResizeNodePool{.name = kSimPool,
                           .target_nodes = 1,
                           .etag = EtagOf(*sim.pool()),
                           .remove_machines = {other}});
  run_twice(DeleteNodePool{.name = kSimPool, .etag = EtagOf(*sim.pool())});
}

TEST(Etag, OfBeforeIsRefusedOfARepetitionOnceSomebodyElseWrote) {
  Running sim(2);
  const Node node = *sim.state().NodesOf(kSimPool).front();
  const Node other = *sim.state().NodesOf(kSimPool).back();
  const absl::Time until = sim.now() + absl::Hours(1);
  const auto refused_after = [&](const auto& another, const auto& command) {
    sim.Must(command);
    sim.Must(another);
    const int64_t revision = sim.revision();
    EXPECT_EQ(ReasonOf(sim.Run(command).status()), "ETAG_MISMATCH");
    EXPECT_EQ(sim.revision(), revision);
  };
  refused_after(UpdateNode{.name = node.name, .protect_until_time = until + absl::Hours(1)},
                UpdateNode{.name = node.name, .etag = EtagOf(node), .protect_until_time = until});
  refused_after(ResizeNodePool{.name = kSimPool, .target_nodes = 4},
                ResizeNodePool{.name = kSimPool, .target_nodes = 3, .etag = EtagOf(*sim.pool())});
  // It is named no more.
  refused_after(UpdateNode{.name = other.name, .protect_until_time = until},
                ResizeNodePool{.name = kSimPool,
                               .target_nodes = 1,
                               .etag = EtagOf(*sim.pool()),
                               .remove_machines = {other.machine}});
}

TEST(Etag, OfBeforeIsRefusedOfWhatIsRefusedAnyway) {
  Running sim(2);
  const std::string machine = *sim.machines().begin();
  const std::string name = sim.node(machine)->name;
  ResizeNodePool resize{.name = kSimPool, .target_nodes = 1, .etag = EtagOf(*sim.pool())};
  sim.Must(resize);
  resize.remove_machines = {"nobody"};
  EXPECT_EQ(ReasonOf(sim.Run(resize).status()), "ETAG_MISMATCH");
  sim.SetActive(machine, true);
  sim.Delete();
  resize.remove_machines.clear();
  EXPECT_EQ(ReasonOf(sim.Run(resize).status()), "ETAG_MISMATCH");
  const auto reserve = [&](const std::string& etag) {
    return ReasonOf(
        sim.Run(UpdateNode{.name = name, .etag = etag, .reserved_desired = kControlPlane})
            .status());
  };
  while (sim.node(machine)->state != NodeState::kDraining) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Pass();
  }
  EXPECT_EQ(reserve("old"), "ETAG_MISMATCH");
  EXPECT_EQ(reserve(""), "NODE_STATE");
}

// By how many it lowers the target follows from what is there: the second time it may be another
// number.
TEST(Etag, OfBeforeIsRefusedOfARepeatedResizeWithoutATarget) {
  Running sim(2);
  ResizeNodePool resize{
      .name = kSimPool, .etag = EtagOf(*sim.pool()), .remove_machines = {*sim.machines().begin()}};
  sim.Must(resize);
  EXPECT_EQ(ReasonOf(sim.Run(resize).status()), "ETAG_MISMATCH");
  resize.target_nodes = 1;
  EXPECT_EQ(ReasonOf(sim.Run(resize).status()), "") << "with one it is so already";
}

TEST(Etag, OfBeforeIsRefusedOfWhatIsNotSoYet) {
  using Verb = OrderNode::Verb;
  Running sim(1);
  const Node node = *sim.state().NodesOf(kSimPool).front();
  const std::string of_pool = EtagOf(*sim.pool());
  const auto reason_of_order = [&](Verb verb, const std::string& etag) {
    return ReasonOf(sim.Run(OrderNode{.name = node.name, .etag = etag, .verb = verb}).status());
  };
  // Somebody else's.
  sim.Must(UpdateNode{.name = node.name, .protect_until_time = sim.now() + absl::Hours(1)});
  sim.Resize(2);
  EXPECT_EQ(reason_of_order(Verb::kCordon, EtagOf(node)), "ETAG_MISMATCH");
  EXPECT_EQ(reason_of_order(Verb::kDrain, EtagOf(node)), "ETAG_MISMATCH");
  EXPECT_EQ(reason_of_order(Verb::kCordon, ""), "");
  EXPECT_EQ(reason_of_order(Verb::kUncordon, EtagOf(node)), "ETAG_MISMATCH");
  EXPECT_EQ(ReasonOf(sim.Run(DeleteNodePool{.name = kSimPool, .etag = of_pool}).status()),
            "ETAG_MISMATCH");
  EXPECT_FALSE(sim.pool()->deleting());
}

// A history that was restored counts its revisions again: a cluster that was changed anew has
// another etag all the same.
TEST(Etag, OfAClusterIsOfEveryField) {
  const Cluster cluster{
      .name = "c", .zone = "z", .create_time = absl::FromUnixSeconds(1'800'000'000)};
  EXPECT_EQ(EtagOf(cluster), "2edd5597b0f1ac95") << "the same in every process";
  const absl::Time later = cluster.create_time + absl::Seconds(1);
  const std::vector<std::function<void(Cluster&)>> changes = {
      [](Cluster& c) { c.name = "d"; },
      [](Cluster& c) { c.zone = "y"; },
      [](Cluster& c) { c.kubernetes_version = "1.33"; },
      [&](Cluster& c) { c.create_time = later; },
      [](Cluster& c) { c.kubernetes_uid = "k"; },
      [](Cluster& c) { c.allowance.node_pools = 1; },
      [](Cluster& c) { c.allowance.nodes = 1; },
      [&](Cluster& c) { c.allowance.create_time = later; },
      [&](Cluster& c) { c.allowance.expire_time = later; },
  };
  std::set<std::string> etags = {EtagOf(cluster)};
  for (const auto& change : changes) {
    Cluster changed = cluster;
    change(changed);
    etags.insert(EtagOf(changed));
  }
  EXPECT_EQ(etags.size(), changes.size() + 1);
}

// Those that clients have stay what they are.
TEST(Etag, OfANodeIsTheSameInEveryProcess) {
  EXPECT_EQ(EtagOf(Node{.pool_uid = "u", .create_time = absl::FromUnixSeconds(1'800'000'000)}),
            "a54c298738cabaa8");
}

}  // namespace
}  // namespace muster::lifecycle
