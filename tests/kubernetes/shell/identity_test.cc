#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"

namespace muster::testing {
namespace {

// Lifecycle that has no such cluster, and answers who asks to have it bound as it is told.
class LifecycleWithoutCluster final : public LifecycleOfCluster {
 public:
  grpc::Status GetCluster(grpc::ServerContext*, const lifecycle::v1::GetClusterRequest*,
                          lifecycle::v1::Cluster*) override {
    return {grpc::StatusCode::NOT_FOUND, "no such cluster"};
  }
  grpc::Status BindCluster(grpc::ServerContext*, const lifecycle::v1::BindClusterRequest*,
                           lifecycle::v1::Cluster*) override {
    MutexLock lock(mutex_);
    return answer_;
  }
  void Answer(grpc::StatusCode code) {
    MutexLock lock(mutex_);
    answer_ = {code, "as the test said"};
  }

 private:
  Mutex mutex_;
  grpc::Status answer_ MUSTER_GUARDED_BY(mutex_);
};

class IdentityTest : public ReconcilerTestBase {
 protected:
  IdentityTest() { Serve({&lifecycle_}); }
  ~IdentityTest() override { Stop(); }

  LifecycleWithoutCluster lifecycle_;
};

// Else it would be made, and only then be refused.
TEST_F(IdentityTest, AClusterThatMusterDoesNotHaveIsAdmittedIfNoOtherIsThatKubernetes) {
  lifecycle_.Answer(grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(identity_->Admit().ok());
  lifecycle_.Answer(grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(absl::IsPermissionDenied(identity_->Admit())) << "it was not said";
  EXPECT_FALSE(identity_->foreign()) << "nothing is known";
  lifecycle_.Answer(grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(absl::IsFailedPrecondition(identity_->Admit()));
  EXPECT_TRUE(identity_->foreign());
}

}  // namespace
}  // namespace muster::testing
