// What makes pools due for the leader, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/reconcile/delay_queue.h"
#include "services/lifecycle/reconcile/peer_watches.h"
#include "services/lifecycle/testing/leadership_test_base.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::IsOk;

TEST_F(SteadyLead, AQuietLeaderWritesNothing) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  QuietPlans(*a_);
  const int64_t revision = a_->lane().revision();
  const auto expires = [&] {
    return database_.QueryValue("SELECT expire_time FROM lifecycle.lease_heartbeat");
  };
  for (int beats = 0; beats < 2; ++beats) {
    const std::string before = expires();
    Until([&] { return expires() != before; });
  }
  EXPECT_EQ(a_->lane().revision(), revision);
  EXPECT_EQ(database_.QueryValue("SELECT revision FROM lifecycle.journal_head"),
            absl::StrCat(revision));
}

// All watches of capacity's claims break and begin anew, and tell what they told before; then one
// claim changes: that pool alone is looked at.
TEST_F(SteadyLead, AQuietReconnectMakesNoPoolDue) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  for (int i = 0; i < 5; ++i) {
    const std::string pool = Apply(absl::StrCat("p", i), 2);
    Until([&] { return NodesOf(*a_, pool) == 2; });
  }
  const double before = QuietPlans(*a_);
  const int watches = peers_.capacity.watches();
  peers_.capacity.DropWatches();
  Until([&] { return peers_.capacity.watches() > watches; });
  peers_.capacity.Touch("uid-p3");
  Until([&] { return Metric(*a_, "muster_lifecycle_plans_total") > before; });
  EXPECT_EQ(QuietPlans(*a_), before + 1);
}

// A pool that has what it wants need not know which of its Nodes have work. One that has too many
// does: the first that falls idle goes.
TEST_F(SteadyLead, WorkMakesNoPoolDueUnlessItHasToChoose) {
  using Observation = ReportNode::Observation;
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("p", 3);
  const auto all_are = [&](auto so) {
    return a_->lane().Peek([&](const State& state, int64_t) {
      const std::vector<const Node*> nodes = state.NodesOf(pool);
      return nodes.size() == 3 && absl::c_all_of(nodes, so);
    });
  };
  Until([&] { return all_are([](const Node* n) { return n->desired.phase == Phase::kRunning; }); });
  const std::vector<std::string> nodes = a_->lane().Peek([&](const State& state, int64_t) {
    std::vector<std::string> names;
    for (const Node* node : state.NodesOf(pool)) names.push_back(node->name);
    return names;
  });
  const auto report = [&](Observation observation) {
    for (const std::string& node : nodes)
      Submit(*b_, ReportNode{.node = node, .observation = observation});
  };
  for (const auto seen : {Observation::kBootStarted, Observation::kRegistered, Observation::kReady})
    report(seen);
  const double before = QuietPlans(*a_);
  report(Observation::kActive);
  report(Observation::kIdle);
  report(Observation::kActive);
  EXPECT_EQ(QuietPlans(*a_), before);
  EXPECT_TRUE(all_are([](const Node* node) { return node->observed.active; }));
  Submit(*b_, ResizeNodePool{.name = pool, .target_nodes = 2});
  QuietPlans(*a_);
  EXPECT_TRUE(all_are([](const Node* node) { return node->state == NodeState::kProduction; }));
  Submit(*b_, ReportNode{.node = nodes[1], .observation = Observation::kIdle});
  Until([&] { return !all_are([](const Node* n) { return n->state == NodeState::kProduction; }); },
        "a Node that goes");
}

// What a zone offers anew concerns the pools of that type, and what it offers no more the others.
TEST_F(SteadyLead, AZoneThatChangesMakesThePoolsDueThatItConcerns) {
  constexpr char kZone[] = "US-EAST-04A";
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("first", 1);
  Until([&] { return NodesOf(*a_, pool) == 1; });
  Apply("of-another-type", 0, "other");
  const double before = QuietPlans(*a_);
  peers_.capacity.ChangeZone(kZone, {"gd-8xa100-i128", "other"});
  Until([&] { return Metric(*a_, "muster_lifecycle_plans_total") > before; });
  EXPECT_EQ(QuietPlans(*a_), before + 1);
  peers_.capacity.ChangeZone(kZone, {"other"});
  const auto validated = [&] {
    return a_->lane().Peek([&](const State& state, int64_t) {
      return std::string(ReasonOf(state.table<Pool>().Find(pool)->status.conditions, "Validated"));
    });
  };
  Until([&] { return validated() == "Invalid"; }, "word that the zone has it no more");
}

// Another pool's holding is asked for anew as its Node is replaced, or grows: no room for who waits
// for some. One after the other the same stream tells of a pool of another Quota, which is short
// too, and of whose others one leaves.
TEST_F(SteadyLead, OnlyAHoldingThatFallsWakesWhoIsShortOfQuota) {
  const auto holding = [](absl::string_view type) {
    return absl::StrCat("organizations/acme/quotas/US-EAST-04A~", type,
                        "~default/holdings/uid-other");
  };
  const std::string full = holding("gd-8xa100-i128"), other = holding("other");
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  Apply("short", 12);  // of a limit of 10
  Apply("short-too", 12, "other");
  const auto is_short = [&](const char* type) {
    return a_->lane().Peek([&](const State& state, int64_t) {
      return state.PoolsShortOfQuota("acme", "US-EAST-04A", type, "default") != nullptr;
    });
  };
  Until([&] { return is_short("gd-8xa100-i128") && is_short("other"); });
  peers_.quota.TellHolding(full, 2, 1, 1);
  peers_.quota.TellHolding(other, 2, 1, 1);
  const double before = QuietPlans(*a_);
  const auto plans = [&] { return Metric(*a_, "muster_lifecycle_plans_total"); };
  peers_.quota.TellHolding(full, 2, 2, 1);   // a generation
  peers_.quota.TellHolding(full, 3, 3, 2);   // it grew
  peers_.quota.TellHolding(other, 1, 2, 2);  // room for "short-too"
  Until([&] { return plans() > before; });
  EXPECT_EQ(QuietPlans(*a_), before + 1);
  peers_.quota.TellHolding(full, 1, 4, 3);
  Until([&] { return plans() > before + 1; });
  EXPECT_EQ(QuietPlans(*a_), before + 2);
  // It was larger for a while that nobody told of.
  peers_.quota.DropWatches();
  peers_.quota.TellHolding(full, 1, 6, 5);
  Until([&] { return plans() > before + 2; });
}

// It may have been restored where it stands, and answers whoever asks before it is watched again.
TEST_F(Leadership, AQuotaWhoseWatchHasEndedIsInDoubtAtOnce) {
  Apply("p", 1);
  DelayQueue due;
  std::atomic<int> doubts = 0;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [&] { ++doubts; });
  watches.Start();
  peers_.quota.SetLimit(kQuota, 10);
  Until([&] { return due.stats().scheduled == 1; }, "what the watch told");
  EXPECT_EQ(doubts, 1) << "as it began";
  peers_.quota.DropWatches();
  Until([&] { return peers_.quota.watches() == 2; }, "the next watch");
  EXPECT_EQ(doubts, 3) << "as the first one ended, and as the next one began";
}

// Somebody has released it there, so that the pool is to show that it has none.
TEST_F(Leadership, AConfigurationThatIsGoneMakesItsPoolDue) {
  Apply("p", 1);
  Apply("q", 1);
  DelayQueue due;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [] {});
  watches.Start();
  peers_.configuration.TellGone("uid-q");
  Until([&] { return due.stats().due > 0; }, "what the watch told");
  EXPECT_THAT(due.Take(10), ::testing::ElementsAre(absl::StrCat(kCluster, "/nodePools/q")));
}

// The same while no watch is open: the next one's snapshot shows it by what it lacks.
TEST_F(Leadership, WhatWentWhileNobodyWatchedMakesItsPoolDue) {
  for (const char* pool : {"p", "q", "r", "s"}) Apply(pool, 1);
  DelayQueue due;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [] {});
  watches.Start();
  for (const char* uid : {"uid-p", "uid-r"}) peers_.capacity.Touch(uid);
  for (const char* uid : {"uid-q", "uid-s"}) peers_.configuration.Touch(uid);
  Until([&] { return due.stats().due == 4; }, "what the watches told");
  (void)due.Take(10);
  peers_.capacity.DropWatchesWithout("uid-p");
  Until([&] { return due.stats().due > 0; }, "the claim that is gone");
  EXPECT_THAT(due.Take(10), ::testing::ElementsAre(absl::StrCat(kCluster, "/nodePools/p")));
  peers_.configuration.DropWatchesWithout("uid-q");
  Until([&] { return due.stats().due > 0; }, "the configuration that is gone");
  EXPECT_THAT(due.Take(10), ::testing::ElementsAre(absl::StrCat(kCluster, "/nodePools/q")));
}

// What is told of a Quota or Holding concerns the pools on it, whatever its organization is called.
TEST_F(Leadership, AnOrganizationMayBeCalledAsACollectionIs) {
  DelayQueue due;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [] {});
  watches.Start();
  size_t pools = 0;
  for (const std::string organization : {"holdings", "quotas", "organizations"}) {
    const std::string cluster = absl::StrCat("organizations/", organization, "/clusters/c1");
    Submit(*b_, UpdateCluster{.cluster = {.name = cluster, .zone = "US-EAST-04A"}});
    Apply(organization, 1, "gd-8xa100-i128", cluster);
    peers_.quota.SetLimit(
        absl::StrCat("organizations/", organization, "/quotas/US-EAST-04A~gd-8xa100-i128~default"),
        10);
    ++pools;
    Until([&] { return due.stats().scheduled == pools; }, "word of its limit");
  }
}

}  // namespace
}  // namespace muster::lifecycle
