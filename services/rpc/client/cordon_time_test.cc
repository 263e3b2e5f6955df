#include "services/rpc/client/cordon_time.h"

#include <gtest/gtest.h>

namespace muster::rpc {
namespace {

int64_t SecondsOf(const lifecycle::v1::Node& node) {
  return absl::ToUnixSeconds(CordonTimeOf(node));
}

lifecycle::v1::Node CordonedNode() {
  lifecycle::v1::Node node;
  node.mutable_desired()->set_cordoned(true);
  node.mutable_state_time()->set_seconds(100);
  return node;
}

TEST(CordonTimeTest, IsAsTheServerSays) {
  lifecycle::v1::Node node = CordonedNode();
  node.mutable_orders()->mutable_cordon_time()->set_seconds(101);
  node.mutable_desired()->mutable_cordon_time()->set_seconds(105);
  EXPECT_EQ(SecondsOf(node), 105);
}

TEST(CordonTimeTest, FollowsFromTheNodeWhereTheServerDoesNotSayIt) {
  lifecycle::v1::Node node = CordonedNode();
  EXPECT_EQ(SecondsOf(node), 100);
  node.mutable_orders()->mutable_cordon_time()->set_seconds(102);
  EXPECT_EQ(SecondsOf(node), 102);
  node.mutable_reconfigure_time()->set_seconds(101);
  EXPECT_EQ(SecondsOf(node), 102);
  node.mutable_reconfigure_time()->set_seconds(103);
  EXPECT_EQ(SecondsOf(node), 103);
}

// A server of the release before keeps what it does not know, also when it cordons anew.
TEST(CordonTimeTest, IsNotThatOfACordonBefore) {
  lifecycle::v1::Node node = CordonedNode();
  node.mutable_desired()->mutable_cordon_time()->set_seconds(100);
  node.mutable_orders()->mutable_cordon_time()->set_seconds(200);
  EXPECT_EQ(SecondsOf(node), 200);
}

}  // namespace
}  // namespace muster::rpc
