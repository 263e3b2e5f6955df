#include "services/common/collections.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CollectionsTest, AResourceNameSaysWhatItIsOf) {
  EXPECT_EQ(CollectionOf("organizations/acme/quotas/q"), "quotas");
  EXPECT_EQ(CollectionOf("organizations/acme/clusters/c/nodePools/p/nodes/n"), "nodes");
  EXPECT_EQ(CollectionOf("zones/Z-1A"), "zones");
  EXPECT_EQ(CollectionOf("zones"), "");
  EXPECT_EQ(CollectionOf(""), "");
}

TEST(CollectionsTest, EachIsKeptByOneService) {
  EXPECT_EQ(ServiceOfCollection("holdings"), "quota");
  EXPECT_EQ(ServiceOfCollection("machines"), "capacity");
  EXPECT_EQ(ServiceOfCollection("releases"), "configuration");
  EXPECT_EQ(ServiceOfCollection("nodes"), "lifecycle");
  EXPECT_EQ(ServiceOfCollection("organizations"), "");
  EXPECT_EQ(ServiceOfCollection(""), "");
}

}  // namespace
}  // namespace muster
