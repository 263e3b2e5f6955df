#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/wire/lifecycle_wire.h"

namespace muster::lifecycle {

using muster::error::InvalidField;

absl::StatusOr<UpdateCluster> FromProto(const v1::UpdateClusterRequest& request) {
  const v1::Cluster& cluster = request.cluster();
  if (!ParseClusterName(cluster.name())) return InvalidField("cluster.name", kClusterNameShape);
  return UpdateCluster{.cluster = {.name = cluster.name(),
                                   .zone = cluster.zone(),
                                   .kubernetes_version = cluster.kubernetes_version()},
                       .etag = cluster.etag()};
}

absl::StatusOr<ApplyNodePool> FromProto(const v1::ApplyNodePoolRequest& request) {
  const v1::NodePool& pool = request.node_pool();
  std::vector<muster::error::FieldViolation> faults;
  if (!ParsePoolName(pool.name())) faults.push_back({"node_pool.name", kPoolNameShape});
  if (!pool.uid().empty() && !IsPoolUid(pool.uid())) {
    faults.push_back({"node_pool.uid", "must be 1 to 64 lower-case letters, digits and `-`"});
  }
  if (!faults.empty()) return muster::error::InvalidFields(std::move(faults));
  ApplyNodePool command{.name = pool.name(), .uid = pool.uid(), .etag = pool.etag()};
  command.spec = FromProto(pool.spec());
  if (pool.spec().has_target_nodes()) command.target_nodes = pool.spec().target_nodes();
  command.validate_only = request.validate_only();
  return command;
}

absl::StatusOr<ResizeNodePool> FromProto(const v1::ResizeNodePoolRequest& request) {
  if (!ParsePoolName(request.name())) return InvalidField("name", kPoolNameShape);
  ResizeNodePool command{.name = request.name(), .etag = request.etag()};
  if (request.has_target_nodes()) command.target_nodes = request.target_nodes();
  command.validate_only = request.validate_only();
  return command;
}

absl::StatusOr<DeleteNodePool> FromProto(const v1::DeleteNodePoolRequest& request) {
  if (!ParsePoolName(request.name())) return InvalidField("name", kPoolNameShape);
  return DeleteNodePool{.name = request.name(),
                        .etag = request.etag(),
                        .allow_missing = request.allow_missing(),
                        .validate_only = request.validate_only()};
}

}  // namespace muster::lifecycle
