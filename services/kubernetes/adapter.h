#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "prometheus/registry.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/reflector.h"
#include "services/kubernetes/brake.h"
#include "services/kubernetes/cluster_view.h"
#include "services/kubernetes/controller.h"
#include "services/kubernetes/event_mirror.h"
#include "services/kubernetes/history.h"
#include "services/kubernetes/identity.h"
#include "services/kubernetes/leader.h"
#include "services/kubernetes/metrics.h"
#include "services/kubernetes/muster_client.h"
#include "services/kubernetes/muster_view.h"
#include "services/kubernetes/node_reconciler.h"
#include "services/kubernetes/pool_reconciler.h"
#include "services/kubernetes/reporter.h"
#include "services/kubernetes/writer.h"

namespace muster::kubernetes {

// What an Adapter is told. Its process's flags of these names have the ranges.
struct AdapterOptions {
  std::string organization = {};  // ids, not names
  std::string cluster = {};
  std::string zone = {};
  std::string kubernetes_version = {};  // of the cluster, for Muster; empty: as it is there
  std::string muster_server = {};       // gRPC target
  std::shared_ptr<grpc::ChannelCredentials> muster_credentials = {};  // null: plain text
  Endpoint endpoint = {};                                             // of the API server
  Edition edition = Edition::kCurrent;
  bool ready_condition = false;  // NodePools show Ready, see core/ready.h
  std::set<std::string> control_plane_namespaces = {};
  bool adopt = false;  // see Identity
  BrakeLimits removals_unasked = {};
  absl::Duration refusal_retry = absl::Seconds(15);  // see PoolReconciler
  int events_a_minute = 3000;                        // mirrored into Kubernetes at most
  int pool_workers = 4;
  int node_workers = 6;
  std::string user_agent = "muster-kubernetes";
  Leader::Options lease = {};
};

// One cluster's mirror: watches both sides, and while it leads brings each key level. Everything
// that it does follows from what is there, so that it may end at any moment.
class Adapter {
 public:
  // INVALID_ARGUMENT for an endpoint that cannot be one. Nothing is sent yet.
  static absl::StatusOr<std::unique_ptr<Adapter>> Create(AdapterOptions options,
                                                         prometheus::Registry& registry);
  ~Adapter();

  // Waits until the API server is of the Kubernetes that Muster has for the cluster, then for the
  // lease, works, and returns when Stop was called (OK), the lease was lost or the API server
  // became another's (ABORTED), or Muster refuses the cluster, e.g. because it has it in another
  // zone or as another Kubernetes by now (FAILED_PRECONDITION, INVALID_ARGUMENT). Call once.
  absl::Status Run();
  // Lets Run return. Thread-safe.
  void Stop();

  // Metrics that are read off its state.
  std::shared_ptr<prometheus::Collectable> collectable() const { return metrics_; }
  // It leads, has seen both sides, and Muster has the cluster; or it waits for the lease.
  // Thread-safe.
  bool ready() const;

 private:
  Adapter(AdapterOptions options, prometheus::Registry& registry);
  absl::Status Connect();
  // In this order, after Connect.
  void MakeViews();
  void MakeHistory();
  void MakeBrake();
  void MakeReconcilers();
  void MakeControllers();
  void MakeMusterWatch();
  void MakeReflectors();
  History::Unknown FindUnknown() const;
  // What would go now because the other side does not know it.
  Brake::PendingRemovals FindRemovals() const;
  void FindNodesToGo(Brake::PendingRemovals& pending) const;
  void FindPoolsToGo(Brake::PendingRemovals& pending) const;
  void ShowHeld(const Brake::Candidate& of, const std::string& message, bool begins);
  // The machine as which Muster knows the v1 Node of that name; else the name itself.
  std::string MachineOf(const std::string& node) const;
  // False: stopped.
  bool AwaitAdmission();
  absl::Status JoinCluster();
  absl::Status TryToJoin();
  // Waits until all has been seen once. False: stopped.
  bool AwaitSynced();
  void Work();
  // Waits until history and brake are to be looked at again. False: stopped.
  bool AwaitLook();
  // Whether both sides still agree on which Kubernetes this is, and Muster has the cluster.
  void CheckIdentity();
  void End();
  void ShutDown();
  // Why Run ends; OK: Stop was called.
  absl::Status EndStatus() const;
  Outcome ReconcileNamespace(const std::string& name);

  const AdapterOptions options_;
  const std::shared_ptr<Metrics> metrics_;
  std::unique_ptr<Client> lease_client_;
  std::unique_ptr<Client> api_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Leader> leader_;
  std::unique_ptr<MusterClient> muster_;
  std::unique_ptr<EventMirror> events_;
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<Identity> identity_;
  std::unique_ptr<History> history_;
  std::unique_ptr<Brake> brake_;
  const std::unique_ptr<MetadataRefusals> refusals_ = std::make_unique<MetadataRefusals>();
  std::unique_ptr<PoolReconciler> pool_reconciler_;
  std::unique_ptr<NodeReconciler> node_reconciler_;
  std::unique_ptr<Controller> pools_;
  std::unique_ptr<Controller> nodes_;
  std::unique_ptr<Controller> namespaces_;
  std::unique_ptr<ClusterView> cluster_;
  std::unique_ptr<MusterView> muster_view_;
  std::unique_ptr<rpc::Watch> watch_;  // keeps muster_view_ level with Muster
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  Stopper stopper_;                 // of Run: by Stop or End
  std::atomic<bool> look_ = false;  // somebody asked the brake
  mutable Mutex mutex_;
  bool lost_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::Status refused_
      MUSTER_GUARDED_BY(mutex_);  // why Muster refused the cluster when it was made anew
  bool ready_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::kubernetes
