#include "services/lifecycle/core/state.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/testing/absent_rows.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

Pool TrainPool() {
  Pool pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"};
  pool.spec.instance_type = "gd-8xa100-i128";
  return pool;
}

TEST(State, CountsWhatAnOrganizationHas) {
  State state;
  StagedState<State> staged(state, 0);
  for (const char* organization : {"acme", "acmes"}) {
    const std::string cluster = absl::StrCat("organizations/", organization, "/clusters/c");
    staged.Put(Cluster{.name = cluster});
    for (const char* pool : {"p", "q"})
      staged.Put(Pool{.name = absl::StrCat(cluster, "/nodePools/", pool),
                      .uid = absl::StrCat(organization, pool)});
  }
  staged.Put(
      Pool{.name = "organizations/acme/clusters/c/nodePools/p", .uid = "acmep", .zone = "z"});
  EXPECT_EQ(state.CountOf("acme").pools, 2);
  EXPECT_EQ(state.CountOf("acme").clusters, 1);
  EXPECT_EQ(state.CountOf("beta").pools, 0);
  staged.Delete<Pool>("organizations/acme/clusters/c/nodePools/p");
  EXPECT_EQ(state.CountOf("acme").pools, 1);
  EXPECT_EQ(state.CountOf("acmes").pools, 2);
  staged.RollBack();
  EXPECT_EQ(state.CountOf("acme").pools, 0);
  EXPECT_EQ(state.CountOf("acmes").clusters, 0);
  EXPECT_EQ(state.organizations(), 0U);
}

TEST(State, AnOrganizationThatHasNothingLeftIsForgotten) {
  State state;
  StagedState<State> staged(state, 0);
  const std::string cluster = "organizations/acme/clusters/c";
  const std::string pool = cluster + "/nodePools/p";
  staged.Put(Cluster{.name = cluster});
  staged.Put(Pool{.name = pool, .uid = "u"});
  staged.Delete<Pool>(pool);
  EXPECT_EQ(state.organizations(), 1U) << "its cluster";
  staged.Delete<Cluster>(cluster);
  EXPECT_EQ(state.organizations(), 0U);
}

TEST(State, EventsAreKeptByTimeOfEachCluster) {
  State state;
  StagedState<State> staged(state, 0);
  const auto seen = [&](const std::string& name, int64_t second) {
    staged.Put(Event{.name = absl::StrCat("organizations/", name),
                     .pool_uid = "u",
                     .last_time = absl::FromUnixSeconds(second)});
  };
  const auto under = [&](const char* prefix) {
    std::vector<std::string> ids;
    for (const State::EventsByTime* events : state.EventsUnder(prefix)) {
      ids.emplace_back();
      for (const State::Seen& one : *events) absl::StrAppend(&ids.back(), LastIdOf(one.name()));
    }
    return absl::StrJoin(ids, " ");
  };
  seen("acme/clusters/c1/events/1", 10);
  seen("acme/clusters/c2/events/2", 20);
  seen("acmes/clusters/c1/events/3", 5);
  seen("acme/clusters/c1/events/4", 30);
  for (const char* all : {"", "organizations/", "organizations/acm"})
    EXPECT_EQ(under(all), "14 2 3");
  EXPECT_EQ(under("organizations/acme/"), "14 2");
  EXPECT_EQ(under("organizations/acme/clusters/c"), "14 2");
  EXPECT_EQ(under("organizations/acme/clusters/c1/"), "14");
  EXPECT_EQ(under("organizations/acme/clusters/c1/events/"), "14");
  EXPECT_EQ(under("organizations/beta/"), "");

  const size_t mark = staged.Mark();
  seen("acme/clusters/c1/events/1", 40);
  EXPECT_EQ(under("organizations/acme/"), "41 2") << "seen again";
  staged.Delete<Event>("organizations/acme/clusters/c2/events/2");
  EXPECT_EQ(under("organizations/acme/clusters/c2/"), "");
  EXPECT_EQ(under(""), "41 3");
  const State copy = state;
  staged.RollBack(mark);
  EXPECT_EQ(under(""), "14 2 3");
  staged.RollBack();
  EXPECT_EQ(under(""), "");
  EXPECT_EQ(copy.EventsUnder("").back()->begin()->name(),
            "organizations/acmes/clusters/c1/events/3");
}

TEST(State, IndexesFollowAndGoBack) {
  State state;
  StagedState<State> staged(state, 0);
  staged.Put(TrainPool());
  staged.Put(Node{.name = NodeName(kSimPool, "g1")});
  Pool neighbour = TrainPool();
  neighbour.name += ".b";
  neighbour.uid = "uid-2";
  staged.Put(neighbour);
  staged.Put(Node{.name = NodeName(neighbour.name, "g2")});
  EXPECT_EQ(state.NodesOf(kSimPool).size(), 1U);
  EXPECT_EQ(state.VersionOf(kSimPool), 2);
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
  Pool content = TrainPool();
  content.status.conditions = {{"Quota", "True", "Under", "", kNever, 1},
                               {"Capacity", "Unknown", "Queued", "", kNever, 1}};
  staged.Put(content);
  EXPECT_EQ(short_of(), 1U);
  EXPECT_EQ(waiting(), 2U);
  content.spec.target_nodes = 2;
  content.account.granted_nodes = 1;
  staged.Put(content);
  EXPECT_EQ(short_of(), 2U) << "it wants more than it was granted";
  content.account.granted_nodes = content.wanted_nodes();
  content.status.conditions[1].reason = "Sufficient";
  staged.Put(content);
  EXPECT_EQ(waiting(), 1U);
  content.spec.node_affinity = {{{"row", "In", {"7"}}}};
  content.spec.target_nodes = 0;
  staged.Put(content);
  EXPECT_EQ(waiting(), 2U) << "whether a machine matches it is told of a pool that has none, too";
  content.spec.node_affinity.clear();
  staged.Put(content);
  const auto autoscaled = [&] {
    const State::Names* names =
        state.AutoscaledOnQuota("acme", "US-EAST-04A", "gd-8xa100-i128", "default");
    return names == nullptr ? 0U : names->size();
  };
  EXPECT_EQ(autoscaled(), 0U);
  content.spec.autoscaling = true;
  staged.Put(content);
  EXPECT_EQ(autoscaled(), 1U);
  content.spec.autoscaling = false;
  staged.Put(content);
  EXPECT_EQ(autoscaled(), 0U);
  content.spec.autoscaling = true;
  staged.Put(content);
  staged.RollBack();
  EXPECT_EQ(autoscaled(), 0U);
  EXPECT_EQ(short_of(), 0U);
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(state.FindPoolByUid("uid-1"), nullptr);
  EXPECT_EQ(state.PoolsOnQuota("acme", "US-EAST-04A", "gd-8xa100-i128", "default"), nullptr);
  EXPECT_EQ(state.VersionOf(kSimPool), 0);
}

TEST(State, WhatIsDeletedAndNeverWasChangesNothing) {
  EXPECT_EQ(RowsAfterAbsentOnesGo<State>(), 0);
}

}  // namespace
}  // namespace muster::lifecycle
