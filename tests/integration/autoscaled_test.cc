// What an autoscaled pool would be granted, and the warning of a max_nodes above it. A pool that
// nothing tells of is looked at once an hour: what happens sooner was told.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/integration/mini_muster.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kQuota[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";

class AutoscaledTest : public ::testing::Test {
 protected:
  AutoscaledTest() : life_(lv1::LifecycleService::NewStub(muster_.channel())) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
    SetLimit(4);
  }
  ~AutoscaledTest() override { EXPECT_EQ(muster_.CompareStates(), ""); }

  void SetLimit(int64_t limit) {
    quota::v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(kQuota);
    request.mutable_quota()->set_limit(limit);
    grpc::ClientContext context;
    quota::v1::Quota quota;
    const auto stub = quota::v1::QuotaService::NewStub(muster_.channel());
    const grpc::Status status = stub->UpdateQuota(&context, request, &quota);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  lv1::NodePool Apply(int64_t target, int64_t max, bool validate_only = false,
                      const std::string& gpu_version = "") {
    lv1::ApplyNodePoolRequest request;
    *request.mutable_node_pool() = muster_.GetPool().value();
    request.mutable_node_pool()->clear_etag();
    lv1::NodePoolSpec& spec = *request.mutable_node_pool()->mutable_spec();
    spec.set_autoscaling(true);
    spec.set_target_nodes(target);
    spec.set_max_nodes(max);
    if (!gpu_version.empty()) spec.mutable_gpu()->set_version(gpu_version);
    request.set_validate_only(validate_only);
    grpc::ClientContext context;
    lv1::NodePool answer;
    const grpc::Status status = life_->ApplyNodePool(&context, request, &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return answer;
  }
  // Until it tells just that; `warned`: of its max_nodes.
  bool AwaitGrantable(int64_t nodes, bool warned) {
    return muster_.Await([&](const lv1::NodePool* pool) {
      if (pool == nullptr || !pool->status().has_grantable_nodes()) return false;
      const auto& all = pool->status().conditions();
      const bool is = std::any_of(all.begin(), all.end(), [](const lv1::Condition& condition) {
        return condition.type() == "MaxNodesUnreachable";
      });
      return pool->status().grantable_nodes() == nodes && is == warned;
    });
  }

  MiniMuster muster_;
  const std::unique_ptr<lv1::LifecycleService::Stub> life_;
};

TEST_F(AutoscaledTest, AMaxNodesAboveQuotaIsWarnedOfAndFollowsTheLimit) {
  const lv1::NodePool tried = Apply(1, 6, true);
  EXPECT_EQ(tried.preview().grantable_nodes(), 4);
  EXPECT_EQ(tried.preview().grantable_nodes_bound_by(), "Quota");
  EXPECT_THAT(tried.warnings(), ElementsAre(HasSubstr("quota grants the NodePool 4 Nodes")));

  Apply(1, 6);
  ASSERT_TRUE(AwaitGrantable(4, true)) << muster_.LogEnds();
  EXPECT_THAT(muster_.GetPool()->warnings(), IsEmpty()) << "of an answer to a mutation only";
  EXPECT_TRUE(muster_.AwaitSettled(1)) << "it is healthy: " << muster_.LogEnds();
  EXPECT_THAT(Apply(2, 6).warnings(), ElementsAre(HasSubstr("quota grants the NodePool 4 Nodes")));
  EXPECT_THAT(Apply(4, 4).warnings(), IsEmpty());
  ASSERT_TRUE(muster_.AwaitSettled(4)) << muster_.LogEnds();
  ASSERT_TRUE(AwaitGrantable(4, false)) << muster_.LogEnds();
  SetLimit(3);
  EXPECT_TRUE(AwaitGrantable(3, true)) << muster_.LogEnds();
  SetLimit(5);
  EXPECT_TRUE(AwaitGrantable(5, false)) << muster_.LogEnds();
}

TEST_F(AutoscaledTest, MachinesAreTheOtherBound) {
  SetLimit(90'000);
  const lv1::NodePool tried = Apply(1, 80'000, true);
  EXPECT_EQ(tried.preview().grantable_nodes_bound_by(), "Capacity");
  EXPECT_THAT(tried.warnings(), ElementsAre(HasSubstr("capacity has the NodePool")));
  Apply(1, 80'000);
  EXPECT_TRUE(AwaitGrantable(tried.preview().grantable_nodes(), true)) << muster_.LogEnds();
  EXPECT_EQ(muster_.GetPool()->status().grantable_nodes_bound_by(), "Capacity");
  EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
}

TEST_F(AutoscaledTest, OfAnInvalidPoolADryRunSaysNoNumber) {
  Apply(1, 6);
  ASSERT_TRUE(AwaitGrantable(4, true)) << muster_.LogEnds();
  const lv1::NodePool tried = Apply(1, 6, true, "999");
  EXPECT_NE(tried.preview().invalid(), "");
  EXPECT_FALSE(tried.preview().has_grantable_nodes());
  EXPECT_THAT(tried.warnings(), IsEmpty());
}

}  // namespace
}  // namespace muster::testing
