#include "services/kubernetes/core/text.h"

#include <gtest/gtest.h>

namespace muster::kubernetes {
namespace {

TEST(Names, GoByTheShapeNotByTheWords) {
  EXPECT_TRUE(IsNodeName("organizations/a/clusters/c/nodePools/p/nodes/m"));
  EXPECT_FALSE(IsNodeName("organizations/nodes/clusters/nodes/nodePools/nodes"));
  EXPECT_TRUE(IsPoolName("organizations/nodes/clusters/nodes/nodePools/nodes"));
  EXPECT_FALSE(IsPoolName("organizations/a/clusters/c/nodePools/p/nodes/m"));
  EXPECT_FALSE(IsPoolName("organizations/a/clusters/nodePools/events/x"));
  EXPECT_FALSE(IsNodeName("nodes"));
}

TEST(MicroTime, HasSixDigitsAlways) {
  google::protobuf::Timestamp time;
  time.set_seconds(1'748'626'560);
  EXPECT_EQ(MicroTime(TimeOf(time)), "2025-05-30T17:36:00.000000Z");
  time.set_nanos(123'456'789);
  EXPECT_EQ(MicroTime(TimeOf(time)), "2025-05-30T17:36:00.123456Z");
}

}  // namespace
}  // namespace muster::kubernetes
