#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/handlers.h"
#include "services/lifecycle/submit_inl.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"
#include "services/rpc/status.h"
#include "services/rpc/unary.h"

namespace muster::lifecycle {
namespace {

// Reports of one call.
constexpr int kMaxReports = 1'000;

// A random UUID (version 4). The only chance in this service: the uid of a pool that came without
// one.
std::string NewUid() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  const uint64_t high = (random() & ~uint64_t{0xf000}) | 0x4000;
  const uint64_t low = (random() & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xffff, low >> 48, low & 0xffffffffffff);
}

absl::StatusOr<lifecycle::UpdateCluster> Parse(const v1::UpdateClusterRequest& request) {
  if (!ParseClusterName(request.cluster().name()))
    return muster::error::InvalidField("cluster.name", kClusterNameShape);
  ASSIGN_OR_RETURN(Cluster cluster, FromProto(request.cluster()));
  return lifecycle::UpdateCluster{std::move(cluster), request.cluster().etag(),
                                  request.validate_only()};
}

absl::StatusOr<lifecycle::ApplyNodePool> Parse(const v1::ApplyNodePoolRequest& request) {
  const v1::NodePool& pool = request.node_pool();
  if (!ParsePoolName(pool.name()))
    return muster::error::InvalidField("node_pool.name", kPoolNameShape);
  if (!pool.uid().empty() && !IsPoolUid(pool.uid())) {
    return muster::error::InvalidField("node_pool.uid",
                                       "must be 1 to 64 of lower-case letters, digits and `-`.");
  }
  lifecycle::ApplyNodePool command;
  command.name = pool.name();
  command.uid = pool.uid();
  command.new_uid = NewUid();
  command.etag = pool.etag();
  command.spec = FromProto(pool.spec());
  command.object_generation = pool.object_generation();
  if (pool.spec().has_target_nodes()) command.target_nodes = pool.spec().target_nodes();
  command.validate_only = request.validate_only();
  return command;
}

absl::StatusOr<lifecycle::ResizeNodePool> Parse(const v1::ResizeNodePoolRequest& request) {
  if (!ParsePoolName(request.name())) return muster::error::InvalidField("name", kPoolNameShape);
  lifecycle::ResizeNodePool command{request.name(), std::nullopt, request.etag()};
  if (request.has_target_nodes()) command.target_nodes = request.target_nodes();
  command.validate_only = request.validate_only();
  if (request.remove_machines_size() > static_cast<int>(kMaxNamedMachines)) {
    return muster::error::InvalidField(
        "remove_machines", absl::StrCat("must have at most ", kMaxNamedMachines, " entries"));
  }
  command.remove_machines.assign(request.remove_machines().begin(),
                                 request.remove_machines().end());
  return command;
}

absl::StatusOr<lifecycle::DeleteNodePool> Parse(const v1::DeleteNodePoolRequest& request) {
  if (!ParsePoolName(request.name())) return muster::error::InvalidField("name", kPoolNameShape);
  return lifecycle::DeleteNodePool{request.name(), request.etag(), request.allow_missing(),
                                   request.validate_only()};
}

absl::StatusOr<lifecycle::UpdateNode> Parse(const v1::UpdateNodeRequest& request) {
  const v1::Node& node = request.node();
  if (!ParseNodeName(node.name())) return muster::error::InvalidField("node.name", kNodeNameShape);
  for (const std::string& path : request.update_mask().paths()) {
    if (path != "protect_until_time" && path != "*") {
      return muster::error::InvalidField("update_mask", "may name `protect_until_time` only");
    }
  }
  lifecycle::UpdateNode command{node.name(), node.etag(), kNever, request.validate_only()};
  if (node.has_protect_until_time()) {
    const google::protobuf::Timestamp& until = node.protect_until_time();
    if (!IsTimestamp(until.seconds(), until.nanos())) {
      return muster::error::InvalidField("node.protect_until_time", "is not a time");
    }
    command.protect_until_time = FromTimestamp(until);
  }
  return command;
}

absl::StatusOr<std::vector<ReportNode>> ParseReports(const v1::ReportNodesRequest& request) {
  if (request.reports().empty() || request.reports_size() > kMaxReports) {
    return muster::error::InvalidField(
        "reports", absl::StrCat("has ", request.reports_size(), " entries; allowed are 1 to ",
                                kMaxReports, "."));
  }
  std::vector<ReportNode> reports;
  std::vector<muster::error::FieldViolation> faults;
  for (int i = 0; i < request.reports_size(); ++i) {
    absl::StatusOr<ReportNode> report =
        FromProto(request.reports(i), absl::StrCat("reports[", i, "]."));
    if (report.ok()) {
      reports.push_back(*std::move(report));
    } else if (const auto detail = muster::error::DetailOf(report.status())) {
      faults.insert(faults.end(), detail->fields.begin(), detail->fields.end());
    }
  }
  if (!faults.empty()) return muster::error::InvalidFields(std::move(faults));
  return reports;
}

}  // namespace

std::optional<TypeFacts> Handlers::TypeOf(const std::string& instance_type) const {
  MutexLock lock(mutex_);
  return catalogue_ == nullptr ? std::nullopt : catalogue_->Type(instance_type);
}

Handlers::Unary Handlers::UpdateCluster(Context context, const v1::UpdateClusterRequest* request,
                                        v1::Cluster* response) {
  return Submit(context, Parse(*request), response);
}

Handlers::Unary Handlers::ApplyNodePool(Context context, const v1::ApplyNodePoolRequest* request,
                                        v1::NodePool* response) {
  absl::StatusOr<lifecycle::ApplyNodePool> command = Parse(*request);
  if (command.ok()) command->type = TypeOf(command->spec.instance_type);
  return SubmitPool(context, std::move(command), response);
}

Handlers::Unary Handlers::ResizeNodePool(Context context, const v1::ResizeNodePoolRequest* request,
                                         v1::NodePool* response) {
  absl::StatusOr<lifecycle::ResizeNodePool> command = Parse(*request);
  if (command.ok()) {
    // The type of a pool never changes, so that memory as it is will do.
    const std::string type = lane_.Peek([&](const State& state, int64_t) {
      const Pool* pool = state.table<Pool>().Find(command->name);
      return pool == nullptr ? "" : pool->spec.instance_type;
    });
    command->type = TypeOf(type);
  }
  return SubmitPool(context, std::move(command), response);
}

Handlers::Unary Handlers::DeleteNodePool(Context context, const v1::DeleteNodePoolRequest* request,
                                         v1::NodePool* response) {
  return SubmitPool(context, Parse(*request), response);
}

Handlers::Unary Handlers::UpdateNode(Context context, const v1::UpdateNodeRequest* request,
                                     v1::Node* response) {
  return Submit(context, Parse(*request), response);
}

Handlers::Unary Handlers::ReportNodes(Context context, const v1::ReportNodesRequest* request,
                                      v1::ReportNodesResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<std::vector<ReportNode>> reports = ParseReports(*request);
    if (!reports.ok()) return void(responder.Finish(reports.status()));
    auto results = std::make_shared<std::vector<absl::Status>>();
    const absl::Time deadline = responder.deadline();
    lane_.Submit(
        [reports = *std::move(reports), results](Overlay<State>& overlay, absl::Time now) {
          results->clear();
          for (const ReportNode& report : reports)
            results->push_back(Decide(overlay, report, now).status());
          return absl::OkStatus();
        },
        [results, response, responder = std::move(responder)](const absl::Status& status,
                                                              int64_t) mutable {
          responder.Reply([&] {
            if (!status.ok()) return status;
            for (const absl::Status& result : *results)
              *response->add_results() = rpc::ToRpcStatus(result);
            return status;
          });
        },
        deadline);
  });
}

}  // namespace muster::lifecycle
