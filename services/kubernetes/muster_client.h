#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/configuration/v1/configuration.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.pb.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/client/watch.h"

namespace muster::kubernetes {

// Muster's API as far as one cluster is concerned. Thread-safe; each call blocks its caller.
// Errors are those of the RPCs, with their details (services/common/error.h); CANCELLED after Stop.
class MusterClient {
 public:
  struct Options {
    std::string server = {};  // gRPC target
    std::string organization = {};
    std::string cluster = {};
    std::shared_ptr<grpc::ChannelCredentials> credentials = {};  // null: plain text
  };
  explicit MusterClient(Options options);
  ~MusterClient();

  // `organizations/{organization}/clusters/{cluster}`.
  const std::string& cluster() const { return cluster_; }
  // The resource name of a pool.
  std::string PoolName(absl::string_view id) const;

  // Sees to it that Muster has the cluster, in this zone. `kubernetes_version` empty: it stays as
  // it is, or is the newest. FAILED_PRECONDITION when the cluster is in another zone.
  absl::Status EnsureCluster(const std::string& zone, const std::string& kubernetes_version);

  absl::StatusOr<lifecycle::v1::Cluster> GetCluster();
  // FAILED_PRECONDITION: it is bound to another Kubernetes, or has pools and `adopt` is false.
  absl::Status BindCluster(const std::string& kubernetes_uid, bool adopt, bool validate_only);
  // Carried out once, though it is repeated a few times while its outcome is not known. ABORTED:
  // the cluster has changed since `etag`.
  absl::StatusOr<lifecycle::v1::Cluster> AllowRemovals(int64_t node_pools, int64_t nodes,
                                                       absl::Duration ttl, const std::string& etag);

  absl::StatusOr<lifecycle::v1::NodePool> ApplyNodePool(const lifecycle::v1::NodePool& pool);
  absl::StatusOr<lifecycle::v1::NodePool> GetNodePool(const std::string& name);
  // Deletes just this pool, as it was seen: ABORTED when it has changed since. OK if it is not
  // there.
  absl::Status DeleteNodePool(const lifecycle::v1::NodePool& pool);
  absl::StatusOr<lifecycle::v1::Node> GetNode(const std::string& name);
  // In as many calls as it takes. One code a report, in their order: INVALID_ARGUMENT where Muster
  // takes it for malformed, for which it refuses the whole call; the others go without it.
  absl::StatusOr<std::vector<absl::StatusCode>> ReportNodes(
      const std::vector<lifecycle::v1::NodeReport>& reports);

  absl::StatusOr<configuration::v1::PoolConfiguration> GetConfiguration(
      const std::string& pool_uid);
  // `rollback`: what a rollback that is ordered at the same time asks for; empty: none is. With
  // one, neither is carried out, an order that waits is dropped, and FAILED_PRECONDITION says so.
  // Calls of the same `request_id` are carried out once; empty: each of them is.
  absl::Status Promote(const std::string& pool_uid, const std::string& profile,
                       const std::string& rollback, const std::string& request_id);
  absl::Status Rollback(const std::string& pool_uid, const std::string& profile,
                        const std::string& request_id);
  // The profile that a rollback to `previous` would come to now. FAILED_PRECONDITION: to none.
  absl::StatusOr<std::string> Previous(const std::string& pool_uid);

  // Pools, Nodes and events of the cluster; `options.stream` is set here. `take` is called by
  // gRPC's threads, one message at a time, and must not block. Stop does not end it.
  std::unique_ptr<rpc::Watch> Watch(
      rpc::Watch::Options options,
      std::function<void(const lifecycle::v1::WatchLifecycleResponse&)> take);

  // Ends all calls under way and to come.
  void Stop();

 private:
  struct Rpc;
  // Those from `begin` to `end`; their codes are added.
  absl::Status ReportSome(const std::vector<lifecycle::v1::NodeReport>& reports, size_t begin,
                          size_t end, std::vector<absl::StatusCode>& codes);

  const std::string cluster_;
  const std::unique_ptr<Rpc> rpc_;
};

}  // namespace muster::kubernetes
