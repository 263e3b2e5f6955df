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

TEST(Names, EventIdsNeverChange) {
  EXPECT_EQ(EventId("u", "o", "r", "m"), "10e7f1b82692a4049b0fdbb596d178e8");
  EXPECT_NE(EventId("u", "o", "rm", ""), EventId("u", "o", "r", "m"));
}

}  // namespace
}  // namespace muster::lifecycle
