#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "prometheus/registry.h"
#include "services/common/mutex.h"
#include "services/kubernetes/brake.h"
#include "services/kubernetes/cluster_view.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/history.h"
#include "services/kubernetes/identity.h"
#include "services/kubernetes/metadata_refusals.h"
#include "services/kubernetes/metrics.h"
#include "services/kubernetes/muster_view.h"
#include "services/kubernetes/node_reconciler.h"
#include "services/kubernetes/reporter.h"
#include "services/kubernetes/testing/fake_muster.h"
#include "services/kubernetes/writer.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"

namespace muster::testing {

inline constexpr char kPods[] = "/api/v1/namespaces/default/pods";

// Lifecycle with a cluster, as these tests play it.
class LifecycleOfCluster : public lifecycle::v1::LifecycleService::Service {
 public:
  grpc::Status GetCluster(grpc::ServerContext*, const lifecycle::v1::GetClusterRequest*,
                          lifecycle::v1::Cluster* cluster) override {
    MutexLock lock(cluster_mutex_);
    cluster->set_kubernetes_uid(kubernetes_uid_);
    return grpc::Status::OK;
  }
  grpc::Status BindCluster(grpc::ServerContext*, const lifecycle::v1::BindClusterRequest* request,
                           lifecycle::v1::Cluster*) override {
    MutexLock lock(cluster_mutex_);
    if (kubernetes_uid_.empty() || kubernetes_uid_ == request->kubernetes_uid())
      return grpc::Status::OK;
    return {grpc::StatusCode::FAILED_PRECONDITION, "it is another Kubernetes"};
  }
  // The cluster is that Kubernetes from now on.
  void BindTo(const std::string& kubernetes_uid) {
    MutexLock lock(cluster_mutex_);
    kubernetes_uid_ = kubernetes_uid;
  }

 private:
  Mutex cluster_mutex_;
  std::string kubernetes_uid_ MUSTER_GUARDED_BY(cluster_mutex_);
};

// What a reconciler works with: a fake cluster, and the services of Muster that the test plays.
// There are no watches: the test itself puts into the views what was seen.
class ReconcilerTestBase : public ::testing::Test {
 protected:
  ReconcilerTestBase() {
    api_ = *kubernetes::Client::Create({.server = api_server_.url()}, {.user_agent = "adapter"});
    writer_ = std::make_unique<kubernetes::Writer>(api_.get());
    history_.Enter("h");
  }
  // The services that Muster consists of. To be called in the test's constructor, as Stop in its
  // destructor.
  void Serve(std::initializer_list<grpc::Service*> services) {
    muster_.emplace(services);
    identity_ = std::make_unique<kubernetes::Identity>(kubernetes::Identity::Parts{
        .api = api_.get(), .muster = &muster_->client(), .metrics = &metrics_, .foreign = [] {}});
  }
  // Lifecycle has the cluster as the fake one. After Serve.
  void Bind(LifecycleOfCluster& lifecycle) {
    const auto system = api_->Get(absl::StrCat(kubernetes::kNamespacesPath, "/kube-system"));
    ASSERT_TRUE(system.ok()) << system.status();
    lifecycle.BindTo((*system)["metadata"]["uid"].get<std::string>());
    ASSERT_TRUE(identity_->Admit().ok());
  }
  // What Muster has under that uid, and the cluster has not, may go.
  void LetPoolGo(const std::string& uid) {
    going_ = {.node_pools = {{.uid = uid}}};
    history_.See("h", uid);
    (void)brake_.Judge(uid);  // asks
    brake_.Look(absl::Now(), absl::ZeroDuration());
    ASSERT_EQ(brake_.Judge(uid), kubernetes::History::Verdict::kObey);
  }
  // Makes `nodes_`, which reconciles Nodes. After Serve.
  void ReconcileNodes(const SteadyClock* clock = TheSteadyClock()) {
    reporter_.emplace(&muster_->client(), [](const std::string&, absl::Duration) {});
    reporter_->Start();
    nodes_.emplace(kubernetes::NodeReconciler::Parts{
        .api = api_.get(),
        .writer = writer_.get(),
        .cluster = &cluster_,
        .muster = &muster_->client(),
        .muster_view = &known_,
        .reporter = &*reporter_,
        .history = &history_,
        .brake = &brake_,
        .identity = identity_.get(),
        .refusals = &refusals_,
        .metadata_turned = [](const std::string&) {},
        .refusals_turned = [](const std::string&) {},
        .deletion_refused =
            [this](const std::string& node, const std::string& message) {
              undeleted_.push_back(absl::StrCat(node, ": ", message));
            },
        .work_turned = [this](const std::string&,
                              const std::string& message) { turned_.push_back(message); },
        .steady = clock});
  }
  void Stop() {
    api_->Stop();
    muster_->client().Stop();
    if (reporter_) reporter_->Stop();
    muster_->Stop();  // before the services, which are the test's
  }

  FakeApiServer api_server_;
  prometheus::Registry registry_;
  kubernetes::Metrics metrics_{registry_, "host"};
  kubernetes::ClusterView cluster_{
      {.node_pool = [](const std::string&) {},
       .machine = [](const std::string&) {},
       .name_space = [](const std::string&) {}},
      [this](const std::string& machine) { return known_.NodeOf(machine) != nullptr; }};
  kubernetes::MusterView known_{{.node_pool = [](const std::string&) {},
                                 .machine = [](const std::string&) {},
                                 .event = [](const lifecycle::v1::Event&) {},
                                 .history = [](const std::optional<std::string>&) {}}};
  kubernetes::History history_{{.metrics = &metrics_}};
  kubernetes::Brake::PendingRemovals going_;
  kubernetes::Brake brake_{
      {.metrics = &metrics_,
       .history = &history_,
       .look = [this] { return going_; },
       .wake = [] {},
       .again = [](const std::vector<std::string>&, const std::vector<std::string>&) {}}};
  kubernetes::MetadataRefusals refusals_;
  std::optional<kubernetes::FakeMuster> muster_;
  std::unique_ptr<kubernetes::Client> api_;
  std::unique_ptr<kubernetes::Writer> writer_;
  std::unique_ptr<kubernetes::Identity> identity_;
  std::optional<kubernetes::Reporter> reporter_;
  std::vector<std::string> turned_;     // what was told of whether Nodes have work
  std::vector<std::string> undeleted_;  // what was told of v1 Nodes that may not be deleted
  std::optional<kubernetes::NodeReconciler> nodes_;
};

}  // namespace muster::testing
