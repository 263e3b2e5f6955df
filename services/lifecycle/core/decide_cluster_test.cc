#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

constexpr char kEmpty[] = "organizations/acme/clusters/c0";  // sorts beside the simulation's

std::string ReasonOf(const StatusOrOutcome& outcome) {
  return muster::error::ReasonOf(outcome.status());
}

class DecideClusterTest : public ::testing::Test {
 protected:
  DecideClusterTest() {
    sim_.Must(UpdateCluster{.cluster = {.name = kEmpty, .zone = "US-EAST-04A"}});
    ApplyNodePool pool{.name = kSimPool, .new_uid = "uid-1", .target_nodes = 1};
    pool.spec.instance_type = "gd-8xa100-i128";
    sim_.Must(pool);
  }
  const Cluster& Get(const char* name) { return *sim_.state().table<Cluster>().Find(name); }

  Simulation sim_;
};

TEST_F(DecideClusterTest, OneWithoutPoolsIsBoundByWhoeverComesFirst) {
  sim_.Must(BindCluster{.name = kEmpty, .kubernetes_uid = "k1"});
  EXPECT_EQ(Get(kEmpty).kubernetes_uid, "k1");
  const int64_t revision = sim_.revision();
  sim_.Must(BindCluster{.name = kEmpty, .kubernetes_uid = "k1"});
  EXPECT_EQ(sim_.revision(), revision) << "the same again changes nothing";
  EXPECT_EQ(ReasonOf(sim_.Run(BindCluster{.name = kEmpty, .kubernetes_uid = "k2"})),
            "CLUSTER_BOUND");
  EXPECT_EQ(ReasonOf(sim_.Run(BindCluster{.name = kEmpty, .kubernetes_uid = "k2", .adopt = true})),
            "CLUSTER_BOUND")
      << "a flag that is left in place does not turn a cluster over";
  EXPECT_EQ(Get(kEmpty).kubernetes_uid, "k1");
}

TEST_F(DecideClusterTest, OneWithPoolsIsBoundByAnOrderOnly) {
  EXPECT_EQ(ReasonOf(sim_.Run(BindCluster{.name = kSimCluster, .kubernetes_uid = "k1"})),
            "CLUSTER_HAS_POOLS");
  EXPECT_EQ(Get(kSimCluster).kubernetes_uid, "");
  sim_.Must(BindCluster{.name = kSimCluster, .kubernetes_uid = "k1", .adopt = true});
  EXPECT_EQ(Get(kSimCluster).kubernetes_uid, "k1");
}

TEST_F(DecideClusterTest, AnOtherOneTakesThePlaceOfTheOneThatIsNamed) {
  sim_.Must(BindCluster{.name = kSimCluster, .kubernetes_uid = "k1", .adopt = true});
  sim_.Must(AllowRemovals{.name = kSimCluster, .nodes = 7, .ttl = absl::Hours(1)});
  BindCluster order{.name = kSimCluster, .kubernetes_uid = "k3", .replaces = "k2"};
  EXPECT_EQ(ReasonOf(sim_.Run(order)), "CLUSTER_BOUND");
  order.replaces = "k1";
  sim_.Must(order);
  EXPECT_EQ(Get(kSimCluster).kubernetes_uid, "k3");
  EXPECT_EQ(Get(kSimCluster).allowance, Cluster::Allowance()) << "it was given for the other one";
  EXPECT_EQ(ReasonOf(sim_.Run(BindCluster{
                .name = kEmpty, .kubernetes_uid = "k3", .adopt = true, .replaces = "k1"})),
            "CLUSTER_BOUND")
      << "it was bound to none";
}

// An adapter that is told another cluster would remove the v1 Nodes of the one that it served.
TEST_F(DecideClusterTest, AKubernetesIsOneClusterOnly) {
  sim_.Must(BindCluster{.name = kSimCluster, .kubernetes_uid = "k1", .adopt = true});
  BindCluster second{.name = kEmpty, .kubernetes_uid = "k1", .adopt = true};
  const auto refused = sim_.Run(second);
  EXPECT_EQ(ReasonOf(refused), "CLUSTER_BOUND");
  EXPECT_THAT(refused.status().message(),
              ::testing::HasSubstr(absl::StrCat("the cluster ", LastIdOf(kSimCluster))));
  BindCluster missing = second;
  missing.name = "organizations/acme/clusters/none";
  EXPECT_EQ(ReasonOf(sim_.Run(missing)), "CLUSTER_BOUND") << "nobody need make it to learn that";
  sim_.Must(BindCluster{.name = kEmpty, .kubernetes_uid = "k2"});
  second.replaces = "k2";
  EXPECT_EQ(ReasonOf(sim_.Run(second)), "CLUSTER_BOUND") << "an order neither";
  EXPECT_EQ(Get(kEmpty).kubernetes_uid, "k2");

  sim_.Must(BindCluster{.name = kSimCluster, .kubernetes_uid = "k3", .replaces = "k1"});
  sim_.Must(second);
  EXPECT_EQ(Get(kEmpty).kubernetes_uid, "k1");
}

TEST_F(DecideClusterTest, WhoElseHasTheKubernetesIsNotToldToOthers) {
  sim_.Must(BindCluster{.name = kSimCluster, .kubernetes_uid = "k1", .adopt = true});
  const auto refused = sim_.Run(
      BindCluster{.name = "organizations/rival/clusters/c", .kubernetes_uid = "k1", .adopt = true});
  EXPECT_EQ(ReasonOf(refused), "CLUSTER_BOUND");
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("is another organization's"));
  EXPECT_THAT(refused.status().message(), ::testing::Not(::testing::HasSubstr("acme")));
}

TEST_F(DecideClusterTest, WhatHasAnOrderOfItsOwnOutlivesAnUpdate) {
  sim_.Must(BindCluster{.name = kEmpty, .kubernetes_uid = "k1"});
  sim_.Must(AllowRemovals{.name = kEmpty, .node_pools = 1, .nodes = 7, .ttl = absl::Hours(1)});
  const Cluster before = Get(kEmpty);
  sim_.Must(UpdateCluster{
      .cluster = {.name = kEmpty, .zone = "US-EAST-04A", .kubernetes_version = "1.34"}});
  EXPECT_EQ(Get(kEmpty).kubernetes_uid, "k1");
  EXPECT_EQ(Get(kEmpty).allowance, before.allowance);
}

TEST_F(DecideClusterTest, AnOrderToGoOnEndsByItself) {
  sim_.Must(AllowRemovals{.name = kEmpty, .node_pools = 2, .nodes = 7, .ttl = absl::Minutes(5)});
  const Cluster::Allowance first = Get(kEmpty).allowance;
  EXPECT_EQ(first.node_pools, 2);
  EXPECT_EQ(first.nodes, 7);
  EXPECT_EQ(first.expire_time - first.create_time, absl::Minutes(5));
  EXPECT_EQ(ReasonOf(sim_.Run(
                AllowRemovals{.name = "organizations/acme/clusters/none", .ttl = absl::Hours(1)})),
            "NOT_FOUND");
}

// How long it lasts yet is what another clock says.
TEST_F(DecideClusterTest, WhatIsTakenOffFromAnOrderDoesNotMoveItsEndLater) {
  sim_.Must(AllowRemovals{.name = kEmpty, .node_pools = 2, .nodes = 7, .ttl = absl::Minutes(5)});
  const absl::Time end = Get(kEmpty).allowance.expire_time;
  const auto after = [&](int64_t node_pools, int64_t nodes, absl::Duration ttl, bool seen = true) {
    sim_.Must(AllowRemovals{.name = kEmpty,
                            .node_pools = node_pools,
                            .nodes = nodes,
                            .ttl = ttl,
                            .etag = seen ? EtagOf(Get(kEmpty)) : ""});
    return Get(kEmpty).allowance;
  };
  EXPECT_EQ(after(2, 6, absl::Minutes(6)).expire_time, end);
  EXPECT_EQ(Get(kEmpty).allowance.nodes, 6);
  EXPECT_EQ(after(1, 6, absl::Minutes(6)).expire_time, end);
  EXPECT_LT(after(1, 5, absl::Minutes(4)).expire_time, end) << "sooner it may end";
  const auto is_new = [&](const Cluster::Allowance& order, absl::Duration ttl) {
    return order.expire_time == order.create_time + ttl;
  };
  EXPECT_TRUE(is_new(after(1, 6, absl::Minutes(6)), absl::Minutes(6))) << "more: another order";
  EXPECT_TRUE(is_new(after(2, 6, absl::Minutes(7)), absl::Minutes(7))) << "more: another order";
  EXPECT_TRUE(is_new(after(2, 6, absl::Minutes(8), false), absl::Minutes(8)))
      << "of one who saw none";
}

// By the clock of an adapter that is behind it still holds.
TEST_F(DecideClusterTest, NothingIsTakenOffFromAnOrderThatHasEnded) {
  sim_.Must(AllowRemovals{.name = kEmpty, .node_pools = 2, .nodes = 7, .ttl = absl::Minutes(5)});
  const Cluster::Allowance ended = Get(kEmpty).allowance;
  const std::string etag = EtagOf(Get(kEmpty));
  sim_.Advance(absl::Minutes(5));
  AllowRemovals order{
      .name = kEmpty, .node_pools = 2, .nodes = 6, .ttl = absl::Minutes(10), .etag = etag};
  for (const int64_t nodes : {6, 7, 0}) {
    order.nodes = nodes;
    EXPECT_EQ(ReasonOf(sim_.Run(order)), "FAILED_PRECONDITION") << nodes;
  }
  EXPECT_EQ(Get(kEmpty).allowance, ended);
  const auto is_new = [&] {
    const Cluster::Allowance& now = Get(kEmpty).allowance;
    return now.nodes == order.nodes && now.create_time > ended.create_time &&
           now.expire_time == now.create_time + order.ttl;
  };
  order.nodes = 8;
  sim_.Must(order);
  EXPECT_TRUE(is_new()) << "more: another order";
  sim_.Advance(absl::Minutes(10));
  order.nodes = 1;
  order.etag.clear();
  sim_.Must(order);
  EXPECT_TRUE(is_new()) << "of one who saw none";
}

TEST_F(DecideClusterTest, TheRevisionThatWasSeenCounts) {
  EXPECT_EQ(ReasonOf(sim_.Run(BindCluster{.name = kEmpty, .kubernetes_uid = "k1", .etag = "9999"})),
            "ETAG_MISMATCH");
  EXPECT_EQ(
      ReasonOf(sim_.Run(AllowRemovals{.name = kEmpty, .ttl = absl::Hours(1), .etag = "9999"})),
      "ETAG_MISMATCH");
}

// As of whoever's answer was lost.
TEST_F(DecideClusterTest, WhoeverIsBoundAlreadyNeedsNoRevision) {
  const BindCluster order{.name = kEmpty, .kubernetes_uid = "k1", .etag = EtagOf(Get(kEmpty))};
  sim_.Must(order);
  const int64_t revision = sim_.revision();
  sim_.Must(order);
  EXPECT_EQ(sim_.revision(), revision);
}

TEST_F(DecideClusterTest, WhatIsSoAlreadyNeedsNoRevision) {
  UpdateCluster update{
      .cluster = {.name = kEmpty, .zone = "US-EAST-04A", .kubernetes_version = "1.34"},
      .etag = EtagOf(Get(kEmpty))};
  sim_.Must(update);
  const int64_t revision = sim_.revision();
  sim_.Must(update);
  EXPECT_EQ(sim_.revision(), revision);
  UpdateCluster another = update;
  another.cluster.kubernetes_version = "1.35";
  EXPECT_EQ(ReasonOf(sim_.Run(another)), "ETAG_MISMATCH");
  another.etag.clear();
  sim_.Must(another);
  EXPECT_EQ(ReasonOf(sim_.Run(update)), "ETAG_MISMATCH");
  EXPECT_EQ(Get(kEmpty).kubernetes_version, "1.35");
  update.cluster.zone = "US-EAST-04B";
  EXPECT_EQ(ReasonOf(sim_.Run(update)), "ETAG_MISMATCH");
  update.cluster.name = "organizations/acme/clusters/none";
  EXPECT_EQ(ReasonOf(sim_.Run(update)), "ETAG_MISMATCH");
}

TEST_F(DecideClusterTest, OneWithoutPoolsCanBeRemoved) {
  EXPECT_EQ(ReasonOf(sim_.Run(DeleteCluster{.name = kSimCluster})), "CLUSTER_IN_USE");
  EXPECT_NE(sim_.Run(DeleteCluster{.name = kSimCluster}).status().message().find("e.g. train"),
            absl::string_view::npos);
  EXPECT_EQ(ReasonOf(sim_.Run(DeleteCluster{.name = kEmpty, .etag = "other"})), "ETAG_MISMATCH");
  const int64_t before = sim_.state().CountOf("acme").clusters;
  sim_.Must(DeleteCluster{.name = kEmpty});
  EXPECT_EQ(sim_.state().table<Cluster>().Find(kEmpty), nullptr);
  EXPECT_EQ(sim_.state().CountOf("acme").clusters, before - 1);
  EXPECT_EQ(ReasonOf(sim_.Run(DeleteCluster{.name = kEmpty})), "NOT_FOUND");
  sim_.Must(DeleteCluster{.name = kEmpty, .allow_missing = true});
}

}  // namespace
}  // namespace muster::lifecycle
