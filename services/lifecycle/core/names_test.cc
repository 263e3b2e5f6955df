#include "services/lifecycle/core/names.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::lifecycle {
namespace {

TEST(Names, ThereAndBack) {
  constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";
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

TEST(Names, ARangeHasTheNamesBelowAndNoOther) {
  const std::string pool = "organizations/acme/clusters/c1/nodePools/train";
  const NameRange nodes = NodeNamesOf(pool);
  const auto has = [](const NameRange& range, const std::string& name) {
    return range.begin <= name && name < range.end;
  };
  EXPECT_TRUE(has(nodes, NodeName(pool, "g1")));
  EXPECT_FALSE(has(nodes, pool));
  EXPECT_FALSE(has(nodes, NodeName(pool + "-b", "g1")));
  const std::string cluster(ClusterNameOf(pool));
  EXPECT_TRUE(has(PoolNamesOf(cluster), pool));
  EXPECT_FALSE(has(PoolNamesOf(cluster), cluster));
  EXPECT_FALSE(has(PoolNamesOf(cluster), cluster + "-b/nodePools/train"));
  EXPECT_FALSE(has(PoolNamesOf(cluster), EventName(cluster, "e")));
}

TEST(Names, EventIdsNeverChange) {
  EXPECT_EQ(EventId("u", "o", "r", "m"), "10e7f1b82692a4049b0fdbb596d178e8");
  EXPECT_NE(EventId("u", "o", "rm", ""), EventId("u", "o", "r", "m"));
}

}  // namespace
}  // namespace muster::lifecycle
