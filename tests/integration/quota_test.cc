// Quota and the pools that wait for it: nobody waits for a resync.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "tests/integration/mini_muster.h"

namespace muster::testing {
namespace {

constexpr char kParent[] = "organizations/acme";
constexpr char kId[] = "RNO2A~gd-8xa100-i128~default";
constexpr char kName[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";

// A pool of one Node in a Muster where a pool that nothing tells of is looked at once an hour: what
// happens sooner was told.
class QuotaWakes : public ::testing::Test {
 protected:
  QuotaWakes() : stub_(quota::v1::QuotaService::NewStub(muster_.channel())) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
  }
  ~QuotaWakes() override { EXPECT_EQ(muster_.CompareStates(), ""); }

  void Update(int64_t limit, const std::function<void(quota::v1::Quota&)>& more = nullptr) {
    quota::v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(kName);
    request.mutable_quota()->set_limit(limit);
    if (more) more(*request.mutable_quota());
    grpc::ClientContext context;
    quota::v1::Quota quota;
    const grpc::Status status = stub_->UpdateQuota(&context, request, &quota);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // Until that was said of the spec as it is now.
  bool AwaitQuota(const std::string& reason) {
    return muster_.Await([&](const lifecycle::v1::NodePool* pool) {
      if (pool == nullptr) return false;
      for (const auto& condition : pool->status().conditions()) {
        if (condition.type() == "Quota") {
          return condition.reason() == reason &&
                 condition.observed_generation() == pool->generation();
        }
      }
      return false;
    });
  }
  // Tells how long the first new Node took.
  void ExpectGrowth(int64_t nodes) {
    const absl::Time raised = absl::Now();
    EXPECT_TRUE(muster_.Await([](const lifecycle::v1::NodePool* pool) {
      return pool != nullptr && pool->status().in_progress() + pool->status().current_nodes() > 1;
    })) << muster_.LogEnds();
    std::cout << "growth was seen after " << absl::Now() - raised << "\n";
    EXPECT_TRUE(muster_.AwaitSettled(nodes)) << muster_.LogEnds();
    EXPECT_EQ(muster_.CheckBooks(nodes), "");
  }

  MiniMuster muster_{{.musterd_flags = {"--resync_interval=1h"}}};
  std::unique_ptr<quota::v1::QuotaService::Stub> stub_;
};

TEST_F(QuotaWakes, ARaisedLimitWakesEveryPoolThatIsOverAtOnce) {
  Update(1);
  ASSERT_TRUE(muster_.Resize(3).ok());
  ASSERT_TRUE(AwaitQuota("Over")) << muster_.LogEnds();
  Update(3);
  ExpectGrowth(3);
}

TEST_F(QuotaWakes, ANewQuotaWakesThePoolsThatFoundNone) {
  grpc::ClientContext gone;
  quota::v1::DeleteQuotaRequest remove;
  remove.set_name(kName);
  google::protobuf::Empty nothing;
  ASSERT_TRUE(stub_->DeleteQuota(&gone, remove, &nothing).ok());
  // Nothing was asked for anew: the pool is told, and keeps its Node.
  ASSERT_TRUE(AwaitQuota("NotSet")) << muster_.LogEnds();
  ASSERT_TRUE(muster_.Resize(3).ok());
  ASSERT_TRUE(AwaitQuota("NotSet")) << muster_.LogEnds();
  grpc::ClientContext context;
  quota::v1::CreateQuotaRequest create;
  create.set_parent(kParent);
  create.set_quota_id(kId);
  create.mutable_quota()->set_limit(3);
  quota::v1::Quota quota;
  ASSERT_TRUE(stub_->CreateQuota(&context, create, &quota).ok());
  ExpectGrowth(3);
}

TEST_F(QuotaWakes, AnOverrideThatComesIntoForceWakesThem) {
  Update(1);
  ASSERT_TRUE(muster_.Resize(3).ok());
  ASSERT_TRUE(AwaitQuota("Over")) << muster_.LogEnds();
  Update(1, [](quota::v1::Quota& quota) {
    quota::v1::LimitOverride* launch = quota.add_overrides();
    launch->set_limit(3);
    const int64_t soon = absl::ToUnixSeconds(absl::Now()) + 2;
    launch->mutable_effective_time()->set_seconds(soon);
    launch->mutable_expire_time()->set_seconds(soon + 3'600);
  });
  ExpectGrowth(3);
}

TEST_F(QuotaWakes, NoNodeIsTakenAwayBecauseALimitFellAndThePoolSaysSo) {
  ASSERT_TRUE(muster_.Resize(3).ok());
  ASSERT_TRUE(muster_.AwaitSettled(3)) << muster_.LogEnds();
  Update(1);
  ASSERT_TRUE(AwaitQuota("Over")) << muster_.LogEnds();
  EXPECT_EQ(muster_.CheckBooks(3), "");
  ASSERT_TRUE(muster_.Resize(1).ok());
  EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
}

}  // namespace
}  // namespace muster::testing
