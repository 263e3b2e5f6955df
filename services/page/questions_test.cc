#include "services/page/questions.h"

#include <gtest/gtest.h>

#include "services/rpc/client/unretried_channel.h"

namespace muster::page {
namespace {

TEST(Questions, WhereAServiceThatIsAwayShouldBeIsNotTold) {
  const auto nowhere = rpc::MakeUnretriedChannel("unix:/nowhere/muster.sock");
  const Questions questions({.capacity = nowhere, .lifecycle = nowhere});
  const Questions::Answer pool = questions.Pool("organizations/acme/clusters/c1/nodePools/train");
  EXPECT_EQ(pool.status, 503);
  EXPECT_EQ(pool.json, R"({"error":"Lifecycle does not answer."})");
  const Questions::Answer claim = questions.Claim("uid-1");
  EXPECT_EQ(claim.status, 503);
  EXPECT_EQ(claim.json, R"({"error":"Capacity does not answer."})");
}

}  // namespace
}  // namespace muster::page
