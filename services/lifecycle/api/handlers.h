#pragma once

#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "services/common/mutex.h"
#include "services/common/place.h"
#include "services/lifecycle/api/advisor.h"
#include "services/lifecycle/api/cluster_zones.h"
#include "services/lifecycle/api/report_tally.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/growth.h"
#include "services/lifecycle/peers/catalogue_mirror.h"
#include "services/lifecycle/store/lane.h"
#include "services/rpc/slow_calls.h"
#include "services/rpc/write.h"

namespace muster::lifecycle {

// Parse, validate, hand to the lane, render. Never blocks. Thread-safe. What each RPC means:
// lifecycle_service.proto.
class Handlers final : public v1::LifecycleService::CallbackService {
 public:
  // To be created before the lane's first Submit. `cpu`: SlowCallsOptions. `policy`: the reconcile
  // loop's.
  Handlers(const rpc::Writer<Lane>& writer, const OrganizationLimits& limits,
           std::shared_ptr<CpuShare> cpu = {}, const Policy& policy = {})
      : writer_(writer),
        lane_(*writer.lane),
        limits_(limits),
        policy_(policy),
        zones_(ClusterZones::Of(writer.lane)),
        slow_(std::make_shared<rpc::SlowCalls>(rpc::SlowCallsOptions{.cpu = std::move(cpu)})) {}
  ~Handlers() override { slow_->Stop(); }

  // From here on specs are also checked against what the catalogue says of their type, and calls
  // that have to ask the other services are answered. A null pointer ends that.
  void SetPeers(std::shared_ptr<const CatalogueMirror> catalogue,
                std::shared_ptr<Advisor> advisor) {
    MutexLock lock(mutex_);
    catalogue_.swap(catalogue);
    advisor_.swap(advisor);
  }

  std::shared_ptr<prometheus::Collectable> collectable() const { return reports_; }

  template <class Response>
  using Stream = grpc::ServerWriteReactor<Response>*;
  using Unary = grpc::ServerUnaryReactor*;
  using Context = grpc::CallbackServerContext*;

  // writes.cc
  Unary UpdateCluster(Context context, const v1::UpdateClusterRequest* request,
                      v1::Cluster* response) override;
  Unary BindCluster(Context context, const v1::BindClusterRequest* request,
                    v1::Cluster* response) override;
  Unary AllowRemovals(Context context, const v1::AllowRemovalsRequest* request,
                      v1::Cluster* response) override;
  Unary ApplyNodePool(Context context, const v1::ApplyNodePoolRequest* request,
                      v1::NodePool* response) override;
  Unary ResizeNodePool(Context context, const v1::ResizeNodePoolRequest* request,
                       v1::NodePool* response) override;
  Unary DeleteNodePool(Context context, const v1::DeleteNodePoolRequest* request,
                       v1::NodePool* response) override;
  Unary UpdateNodePool(Context context, const v1::UpdateNodePoolRequest* request,
                       v1::NodePool* response) override;
  Unary DeleteCluster(Context context, const v1::DeleteClusterRequest* request,
                      google::protobuf::Empty* response) override;
  Unary UpdateNode(Context context, const v1::UpdateNodeRequest* request,
                   v1::Node* response) override;
  Unary ReportNodes(Context context, const v1::ReportNodesRequest* request,
                    v1::ReportNodesResponse* response) override;

  // reconfiguration.cc
  Unary ReconfigureNodePool(Context context, const v1::ReconfigureNodePoolRequest* request,
                            v1::NodePool* response) override;
  Unary PauseReconfiguration(Context context, const v1::PauseReconfigurationRequest* request,
                             v1::NodePool* response) override;
  Unary ResumeReconfiguration(Context context, const v1::ResumeReconfigurationRequest* request,
                              v1::NodePool* response) override;
  Unary CancelReconfiguration(Context context, const v1::CancelReconfigurationRequest* request,
                              v1::NodePool* response) override;

  // node_orders.cc
  Unary CordonNode(Context context, const v1::CordonNodeRequest* request,
                   v1::Node* response) override;
  Unary UncordonNode(Context context, const v1::UncordonNodeRequest* request,
                     v1::Node* response) override;
  Unary DrainNode(Context context, const v1::DrainNodeRequest* request,
                  v1::Node* response) override;
  Unary RebootNode(Context context, const v1::RebootNodeRequest* request,
                   v1::Node* response) override;

  // reads.cc
  Unary ExplainNodePool(Context context, const v1::ExplainNodePoolRequest* request,
                        v1::ExplainNodePoolResponse* response) override;
  Unary GetCluster(Context context, const v1::GetClusterRequest* request,
                   v1::Cluster* response) override;
  Unary ListClusters(Context context, const v1::ListClustersRequest* request,
                     v1::ListClustersResponse* response) override;
  Unary GetNodePool(Context context, const v1::GetNodePoolRequest* request,
                    v1::NodePool* response) override;
  Unary ListNodePools(Context context, const v1::ListNodePoolsRequest* request,
                      v1::ListNodePoolsResponse* response) override;
  Unary GetNode(Context context, const v1::GetNodeRequest* request, v1::Node* response) override;
  Unary ListNodes(Context context, const v1::ListNodesRequest* request,
                  v1::ListNodesResponse* response) override;
  Unary ListEvents(Context context, const v1::ListEventsRequest* request,
                   v1::ListEventsResponse* response) override;
  Stream<v1::WatchLifecycleResponse> WatchLifecycle(
      Context context, const v1::WatchLifecycleRequest* request) override;

 private:
  // A mutation of a pool; with `validate_only` the answer tells what it would do (write_inl.h). If
  // the pool grows, quota is asked first: until the deadline if the request must fit, else for half
  // a second.
  template <class Request, class Parse>
  Unary WritePool(Context context, const Request& request, v1::NodePool* response, Parse parse);
  // Likewise, of a Node.
  template <class Request, class Parse>
  Unary WriteNode(Context context, const Request& request, v1::Node* response, Parse parse);
  // Adds the faults of a command that do not depend on the state, and if there are any, also those
  // that do. Faults of the latter kind alone are left to Decide.
  template <class Command>
  void Judge(const Command& command, Faults& faults) const;
  std::shared_ptr<Advisor> advisor() const {
    MutexLock lock(mutex_);
    return advisor_;
  }
  std::shared_ptr<const CatalogueMirror> catalogue() const {
    MutexLock lock(mutex_);
    return catalogue_;
  }

  // Counts the reports for the metrics, by zone: those of Nodes in places that count.
  void NoteHeard(const v1::ReportNodesRequest& request,
                 absl::FunctionRef<bool(const Place&)> counts) const;

  const rpc::Writer<Lane> writer_;
  Lane& lane_;
  const OrganizationLimits limits_;
  const Policy policy_;
  const std::shared_ptr<const ClusterZones> zones_;
  const std::shared_ptr<ReportTally> reports_ = std::make_shared<ReportTally>();
  const std::shared_ptr<rpc::SlowCalls> slow_;
  mutable Mutex mutex_;
  std::shared_ptr<const CatalogueMirror> catalogue_ MUSTER_GUARDED_BY(mutex_);
  std::shared_ptr<Advisor> advisor_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::lifecycle
