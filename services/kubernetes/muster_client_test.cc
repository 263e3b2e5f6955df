#include "services/kubernetes/muster_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/mutex.h"
#include "services/kubernetes/testing/fake_muster.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::Cluster;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::Each;
using ::testing::SizeIs;

constexpr char kClusterName[] = "organizations/acme/clusters/c1";

Cluster MakeCluster(const std::string& version) {
  Cluster cluster;
  cluster.set_name(kClusterName);
  cluster.set_zone("RNO2A");
  cluster.set_kubernetes_version(version);
  return cluster;
}

// Has one cluster at most.
class FakeClusters final : public lifecycle::v1::LifecycleService::Service {
 public:
  grpc::Status GetCluster(grpc::ServerContext*, const lifecycle::v1::GetClusterRequest*,
                          Cluster* response) override {
    MutexLock lock(mutex_);
    if (!cluster_) return {grpc::StatusCode::NOT_FOUND, "no such cluster"};
    *response = *cluster_;
    // Somebody is quicker than what follows from the answer.
    if (next_) cluster_ = next_;
    return grpc::Status::OK;
  }
  grpc::Status UpdateCluster(grpc::ServerContext*,
                             const lifecycle::v1::UpdateClusterRequest* request,
                             Cluster* response) override {
    MutexLock lock(mutex_);
    if (cluster_ && cluster_->zone() != request->cluster().zone())
      return {grpc::StatusCode::FAILED_PRECONDITION, "it is in another zone"};
    cluster_ = request->cluster();
    *response = *cluster_;
    return grpc::Status::OK;
  }

  grpc::Status AllowRemovals(grpc::ServerContext*,
                             const lifecycle::v1::AllowRemovalsRequest* request,
                             Cluster*) override {
    MutexLock lock(mutex_);
    allowed_for_ =
        absl::Seconds(request->ttl().seconds()) + absl::Nanoseconds(request->ttl().nanos());
    request_ids_.push_back(request->request_id());
    if (losing_) losing_();
    if (lost_answers_.empty()) return grpc::Status::OK;
    const grpc::StatusCode code = lost_answers_.front();
    lost_answers_.erase(lost_answers_.begin());
    return {code, "the answer is lost"};
  }

  // The next orders to allow removals are answered so.
  void LoseAnswers(std::vector<grpc::StatusCode> codes, std::function<void()> losing = {}) {
    MutexLock lock(mutex_);
    lost_answers_ = std::move(codes);
    losing_ = std::move(losing);
  }
  // Of the orders to allow removals.
  std::vector<std::string> request_ids() const {
    MutexLock lock(mutex_);
    return request_ids_;
  }

  absl::Duration allowed_for() const {
    MutexLock lock(mutex_);
    return allowed_for_;
  }
  void Set(const Cluster& cluster) {
    MutexLock lock(mutex_);
    cluster_ = cluster;
  }
  void ChangeAfterNextGet(const Cluster& cluster) {
    MutexLock lock(mutex_);
    next_ = cluster;
  }
  // Empty: there is no cluster, or none was said.
  std::string version() const {
    MutexLock lock(mutex_);
    return cluster_ ? cluster_->kubernetes_version() : "";
  }
  bool has_cluster() const {
    MutexLock lock(mutex_);
    return cluster_.has_value();
  }

 private:
  mutable Mutex mutex_;
  std::optional<Cluster> cluster_ MUSTER_GUARDED_BY(mutex_);
  std::optional<Cluster> next_ MUSTER_GUARDED_BY(mutex_);
  absl::Duration allowed_for_ MUSTER_GUARDED_BY(mutex_);
  std::vector<grpc::StatusCode> lost_answers_ MUSTER_GUARDED_BY(mutex_);
  std::function<void()> losing_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> request_ids_ MUSTER_GUARDED_BY(mutex_);
};

class EnsureClusterTest : public ::testing::Test {
 protected:
  FakeClusters service_;
  FakeMuster muster_{&service_};
};

// What is taken off from an order neither prolongs nor shortens it.
TEST_F(EnsureClusterTest, RemovalsAreAllowedForAsLongAsAsked) {
  EXPECT_THAT(muster_.client().AllowRemovals(0, 5, absl::Milliseconds(1'900), "e"), IsOk());
  EXPECT_EQ(service_.allowed_for(), absl::Milliseconds(1'900));
  EXPECT_THAT(muster_.client().AllowRemovals(0, 5, absl::Milliseconds(1), "e"), IsOk());
  EXPECT_EQ(service_.allowed_for(), absl::Seconds(1)) << "the least that there is";
  EXPECT_THAT(muster_.client().AllowRemovals(0, 5, absl::Hours(48), "e"), IsOk());
  EXPECT_EQ(service_.allowed_for(), absl::Hours(24));
}

// Else what was allowed is used up, and nothing went.
TEST_F(EnsureClusterTest, AnOrderWhoseAnswerIsLostIsRepeatedUnderItsId) {
  service_.LoseAnswers({grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::UNKNOWN});
  EXPECT_THAT(muster_.client().AllowRemovals(0, 5, absl::Hours(1), "e"), IsOk());
  const std::vector<std::string> ids = service_.request_ids();
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_NE(ids[0], "");
  EXPECT_THAT(ids, Each(ids[0]));
  EXPECT_THAT(muster_.client().AllowRemovals(0, 4, absl::Hours(1), "e"), IsOk());
  EXPECT_NE(service_.request_ids().back(), ids[0]) << "another order";
}

TEST_F(EnsureClusterTest, AnOrderThatIsRefusedIsNotRepeated) {
  service_.LoseAnswers({grpc::StatusCode::ABORTED});
  EXPECT_THAT(muster_.client().AllowRemovals(0, 5, absl::Hours(1), "e"),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(service_.request_ids(), SizeIs(1));
}

TEST_F(EnsureClusterTest, WhoStopsRepeatsNoOrder) {
  service_.LoseAnswers(std::vector(10, grpc::StatusCode::UNAVAILABLE),
                       [this] { muster_.client().Stop(); });
  EXPECT_FALSE(muster_.client().AllowRemovals(0, 5, absl::Hours(1), "e").ok());
  EXPECT_THAT(service_.request_ids(), SizeIs(1));
}

TEST_F(EnsureClusterTest, MakesTheClusterThatIsNotThere) {
  EXPECT_THAT(muster_.client().EnsureCluster("RNO2A", ""), IsOk());
  EXPECT_TRUE(service_.has_cluster());
}

TEST_F(EnsureClusterTest, AVersionThatChangesMeanwhileStands) {
  service_.Set(MakeCluster("1.32"));
  service_.ChangeAfterNextGet(MakeCluster("1.33"));
  EXPECT_THAT(muster_.client().EnsureCluster("RNO2A", ""), IsOk());
  EXPECT_EQ(service_.version(), "1.33");
}

TEST_F(EnsureClusterTest, AVersionThatIsGivenIsWritten) {
  service_.Set(MakeCluster("1.32"));
  EXPECT_THAT(muster_.client().EnsureCluster("RNO2A", "1.33"), IsOk());
  EXPECT_EQ(service_.version(), "1.33");
}

TEST_F(EnsureClusterTest, OneInAnotherZoneIsRefusedWhateverItsVersion) {
  service_.Set(MakeCluster("1.32"));
  for (const char* version : {"", "1.33"}) {
    EXPECT_THAT(muster_.client().EnsureCluster("LAS1A", version),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_EQ(service_.version(), "1.32");
}

}  // namespace
}  // namespace muster::kubernetes
