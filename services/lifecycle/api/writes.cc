#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/access/scope.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/report_limits.h"
#include "services/common/resource_name.h"
#include "services/common/timestamp.h"
#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/api/write_inl.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/place.h"
#include "services/lifecycle/core/spec_fields.h"
#include "services/lifecycle/core/validate_command.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"
#include "services/rpc/batch.h"
#include "services/rpc/field_mask.h"
#include "services/rpc/write.h"

namespace muster::lifecycle {
namespace {

// A random UUID (version 4), for a pool that comes without a uid.
std::string NewUid() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  const uint64_t high = (random() & ~uint64_t{0xf000}) | 0x4000;
  const uint64_t low = (random() & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xffff, low >> 48, low & 0xffffffffffff);
}

constexpr auto kParseCluster = [](const v1::UpdateClusterRequest& request, Faults& faults) {
  const bool named = ParseClusterName(request.cluster().name()).has_value();
  faults.Require(named, "cluster.name", kClusterNameShape);
  UpdateCluster command{*FromProto(request.cluster()), request.cluster().etag()};
  Validate(command, faults);
  return command;
};

constexpr auto kParseBind = [](const v1::BindClusterRequest& request, Faults& faults) {
  faults.Require(ParseClusterName(request.name()).has_value(), "name", kClusterNameShape);
  BindCluster command{request.name(), request.kubernetes_uid(), request.adopt(), request.replaces(),
                      request.etag()};
  Validate(command, faults);
  return command;
};

constexpr auto kParseAllow = [](const v1::AllowRemovalsRequest& request, Faults& faults) {
  faults.Require(ParseClusterName(request.name()).has_value(), "name", kClusterNameShape);
  AllowRemovals command{request.name(), request.node_pools(), request.nodes(), kAllowanceTtl,
                        request.etag()};
  if (request.has_ttl())
    // Whole microseconds: what is written is read back equal.
    command.ttl = absl::Trunc(
        absl::Seconds(request.ttl().seconds()) + absl::Nanoseconds(request.ttl().nanos()),
        absl::Microseconds(1));
  Validate(command, faults);
  return command;
};

constexpr auto kParseApply = [](const v1::ApplyNodePoolRequest& request, Faults& faults) {
  const v1::NodePool& pool = request.node_pool();
  faults.Require(ParsePoolName(pool.name()).has_value(), "node_pool.name", kPoolNameShape);
  // It is the value of a label of the pool's Nodes.
  faults.Require(pool.uid().empty() || IsDnsLabel(pool.uid()), "node_pool.uid",
                 "must be 1 to 63 of lower-case letters, digits and `-`, first and last no `-`.");
  ApplyNodePool command;
  command.name = pool.name();
  command.uid = pool.uid();
  command.new_uid = NewUid();
  command.etag = pool.etag();
  command.spec = FromProto(pool.spec());
  command.object_generation = pool.object_generation();
  if (pool.spec().has_target_nodes()) command.target_nodes = pool.spec().target_nodes();
  return command;
};

constexpr auto kParseUpdate = [](const v1::UpdateNodePoolRequest& request, Faults& faults) {
  const v1::NodePool& pool = request.node_pool();
  faults.Require(ParsePoolName(pool.name()).has_value(), "node_pool.name", kPoolNameShape);
  const google::protobuf::FieldMask& mask = request.update_mask();
  std::vector<absl::string_view> known = SpecPaths();
  known.insert(known.begin(),
               {"spec", "spec.lifecycle", "spec.node_configuration_update_strategy"});
  rpc::CheckUpdateMask(mask, known, faults);
  UpdateNodePool command{.name = pool.name(), .etag = pool.etag()};
  command.paths.assign(mask.paths().begin(), mask.paths().end());
  if (command.paths.empty()) command.paths = SetPaths(pool.spec());
  faults.Require(!command.paths.empty(), "update_mask",
                 "must name a field, or `node_pool.spec` have one that is set.");
  command.values = FromProto(pool.spec());
  if (pool.spec().has_target_nodes()) command.target_nodes = pool.spec().target_nodes();
  return command;
};

constexpr auto kParseDeleteCluster = [](const v1::DeleteClusterRequest& request, Faults& faults) {
  faults.Require(ParseClusterName(request.name()).has_value(), "name", kClusterNameShape);
  return DeleteCluster{request.name(), request.etag(), request.allow_missing()};
};

constexpr auto kParseResize = [](const v1::ResizeNodePoolRequest& request, Faults& faults) {
  const auto& machines = request.remove_machines();
  faults.Require(ParsePoolName(request.name()).has_value(), "name", kPoolNameShape);
  ResizeNodePool command{request.name(), std::nullopt, request.etag()};
  if (request.has_target_nodes()) command.target_nodes = request.target_nodes();
  command.remove_machines.assign(machines.begin(), machines.end());
  return command;
};

constexpr auto kParseDelete = [](const v1::DeleteNodePoolRequest& request, Faults& faults) {
  faults.Require(ParsePoolName(request.name()).has_value(), "name", kPoolNameShape);
  return DeleteNodePool{request.name(), request.etag(), request.allow_missing()};
};

constexpr auto kParseNode = [](const v1::UpdateNodeRequest& request, Faults& faults) {
  const v1::Node& node = request.node();
  faults.Require(ParseNodeName(node.name()).has_value(), "node.name", kNodeNameShape);
  const google::protobuf::FieldMask& mask = request.update_mask();
  rpc::CheckUpdateMask(mask, {"protect_until_time", "reserved_desired"}, faults);
  const auto named = [&](absl::string_view field) {
    return !mask.paths().empty() && rpc::InUpdateMask(mask, field);
  };
  UpdateNode command{node.name(), node.etag()};
  if (mask.paths().empty() || named("protect_until_time")) {
    command.protect_until_time = kNever;
    if (node.has_protect_until_time()) {
      const google::protobuf::Timestamp& until = node.protect_until_time();
      const bool is_time = IsTimestamp(until.seconds(), until.nanos());
      faults.Require(is_time, "node.protect_until_time", "is not a time");
      if (is_time) command.protect_until_time = FromTimestamp(until);
    }
  }
  if (named("reserved_desired")) {
    const std::string& desired = node.reserved_desired();
    faults.Require(desired.empty() || desired == kControlPlane, "node.reserved_desired",
                   absl::StrCat("must be empty or ", kControlPlane));
    command.reserved_desired = desired;
  }
  return command;
};

// Decides a command of a cluster. With `tries` the change is taken back, and the outcome has the
// etag of the cluster that is there.
struct DecideCluster {
  bool tries = false;

  template <class Command>
  StatusOrOutcome operator()(StagedState<State>& staged, const Command& command,
                             absl::Time now) const {
    const size_t mark = staged.Mark();
    StatusOrOutcome outcome = Decide(staged, command, now);
    if (!tries || !outcome.ok()) return outcome;
    const Cluster* there = rpc::TakeBack<Cluster>(staged, mark, outcome->cluster->name);
    outcome->etag_there = there == nullptr ? "" : EtagOf(*there);
    return outcome;
  }
};

using Reports = std::vector<ReportNode>;

constexpr auto kParseReports = [](const v1::ReportNodesRequest& request, Faults& faults) {
  return rpc::ParseBatch(
      request.reports(), {.field = "reports", .max = kMaxReportsACall},
      [](const v1::NodeReport&) { return absl::string_view(); },
      [](const v1::NodeReport& report, absl::string_view path, Faults& found) {
        return FromProto(report, path, found);
      },
      faults);
};

// All of the scope but its clusters.
access::Scope BeyondClusters(const access::Scope& scope) {
  access::Scope rest = scope.everywhere() ? access::Scope::Everywhere() : access::Scope();
  for (const std::string& organization : scope.organizations()) rest.AddOrganization(organization);
  for (const std::string& zone : scope.zones()) rest.AddZone(zone);
  return rest;
}

// The caller of ReportNodes: which Nodes exist for it (`sees`; null: all), and of which it may
// speak as their agent. An adapter is no agent of the clusters that it keeps in step (`adapts`),
// unless it may report of more than clusters.
class ReportingCaller {
 public:
  ReportingCaller(std::shared_ptr<const access::Scope> sees,
                  std::shared_ptr<const access::Scope> adapts, const access::Scope* reports_of)
      : sees_(std::move(sees)) {
    if (adapts == nullptr || !adapts->only_clusters() || reports_of == nullptr) return;
    adapts_ = std::move(adapts);
    agent_of_ = BeyondClusters(*reports_of);
  }

  bool Sees(const Place& place) const { return sees_ == nullptr || sees_->Covers(place); }
  bool IsAgentOf(const Place& place) const {
    return adapts_ == nullptr || !adapts_->Covers(place) || agent_of_.Covers(place);
  }

 private:
  std::shared_ptr<const access::Scope> sees_;
  std::shared_ptr<const access::Scope> adapts_ = {};
  access::Scope agent_of_ = {};
};

// Decides each report on its own. Of machines only their agents can tell.
struct DecideReports {
  ReportingCaller caller;
  std::vector<absl::Status> operator()(StagedState<State>& staged, const Reports& reports,
                                       absl::Time now) const {
    std::vector<absl::Status> results;
    absl::flat_hash_set<absl::string_view> told;
    for (const ReportNode& report : reports) {
      // Each report of a Node is a change of its own, even in one batch.
      if (!told.insert(report.node).second) staged.Mark();
      const absl::Status refusal = Refusal(report, PlaceOf(staged.state(), report.node));
      results.push_back(refusal.ok() ? Decide(staged, report, now).status() : refusal);
    }
    return results;
  }

 private:
  absl::Status Refusal(const ReportNode& report, const Place& place) const {
    if (!caller.Sees(place)) return muster::error::NotFound(report.node);
    if (!IsOfMachine(report.observation) || caller.IsAgentOf(place)) return absl::OkStatus();
    return muster::error::Make(
        absl::StatusCode::kPermissionDenied,
        "An adapter does not report boots, staging, or that a Node is switched off: the agents of "
        "its zone do.",
        {.reason = "PERMISSION_DENIED", .resource = report.node});
  }
};

struct RenderReports {
  std::shared_ptr<ReportTally> tally = {};

  void Committed(const std::vector<absl::Status>& results) const {
    if (const auto unknown = tally->Count(results)) {
      log::Warn("agents report Nodes that are not known",
                {{"reports", unknown->reports}, {"example", unknown->example}});
    }
  }
  void operator()(const std::vector<absl::Status>& results,
                  v1::ReportNodesResponse& response) const {
    rpc::RenderResults(results, response.mutable_results());
  }
};

}  // namespace

template <class Command>
void Handlers::Judge(const Command& command, Faults& faults) const {
  Validate(command, faults);
  if (faults.empty()) return;
  // Whoever is refused is told all of it at once; for that memory as it is will do.
  lane_.Peek([&](const State& state, int64_t) { ValidateIn(state, command, faults); });
}

Handlers::Unary Handlers::UpdateCluster(Context context, const v1::UpdateClusterRequest* request,
                                        v1::Cluster* response) {
  const auto parse = [this](const auto& asked, Faults& faults) {
    auto command = kParseCluster(asked, faults);
    command.limits = limits_;
    return command;
  };
  return rpc::Write(context, writer_, *request, response, parse,
                    DecideCluster{request->validate_only()}, RenderOutcome());
}

Handlers::Unary Handlers::BindCluster(Context context, const v1::BindClusterRequest* request,
                                      v1::Cluster* response) {
  return rpc::Write(context, writer_, *request, response, kParseBind,
                    DecideCluster{request->validate_only()}, RenderOutcome());
}

Handlers::Unary Handlers::AllowRemovals(Context context, const v1::AllowRemovalsRequest* request,
                                        v1::Cluster* response) {
  return rpc::Write(context, writer_, *request, response, kParseAllow,
                    DecideCluster{request->validate_only()}, RenderOutcome());
}

Handlers::Unary Handlers::ApplyNodePool(Context context, const v1::ApplyNodePoolRequest* request,
                                        v1::NodePool* response) {
  return WritePool(context, *request, response, [this](const auto& asked, Faults& faults) {
    auto command = kParseApply(asked, faults);
    if (const auto known = catalogue()) command.type = known->Type(command.spec.instance_type);
    command.limits = limits_;
    Judge(command, faults);
    return command;
  });
}

Handlers::Unary Handlers::ResizeNodePool(Context context, const v1::ResizeNodePoolRequest* request,
                                         v1::NodePool* response) {
  return WritePool(context, *request, response, [this](const auto& asked, Faults& faults) {
    const WithPoolType command{kParseResize(asked, faults), catalogue()};
    Judge(command, faults);
    return command;
  });
}

Handlers::Unary Handlers::UpdateNodePool(Context context, const v1::UpdateNodePoolRequest* request,
                                         v1::NodePool* response) {
  // The spec that it results in is judged by Decide: the pool may have changed by then.
  return WritePool(context, *request, response, [this](const auto& asked, Faults& faults) {
    return WithPoolType{kParseUpdate(asked, faults), catalogue()};
  });
}

Handlers::Unary Handlers::DeleteCluster(Context context, const v1::DeleteClusterRequest* request,
                                        google::protobuf::Empty* response) {
  return rpc::Write(context, writer_, *request, response, kParseDeleteCluster, kDecide,
                    RenderOutcome());
}

Handlers::Unary Handlers::DeleteNodePool(Context context, const v1::DeleteNodePoolRequest* request,
                                         v1::NodePool* response) {
  return WritePool(context, *request, response, kParseDelete);
}

Handlers::Unary Handlers::UpdateNode(Context context, const v1::UpdateNodeRequest* request,
                                     v1::Node* response) {
  return WriteNode(context, *request, response, kParseNode);
}

void Handlers::NoteHeard(const v1::ReportNodesRequest& request,
                         absl::FunctionRef<bool(const Place&)> counts) const {
  std::map<std::string, int64_t> zones;
  const auto reports =
      std::min<size_t>(static_cast<size_t>(request.reports_size()), kMaxReportsACall);
  lane_.Peek([&](const State& state, int64_t) {
    for (size_t i = 0; i < reports; ++i) {
      const std::string& node = request.reports(static_cast<int>(i)).node();
      const Pool* pool = state.table<Pool>().Find(PoolNameOf(node));
      if (pool != nullptr && counts(PlaceOf(state, node))) ++zones[pool->zone];
    }
  });
  reports_->Heard(zones, lane_.clock().Now());
}

Handlers::Unary Handlers::ReportNodes(Context context, const v1::ReportNodesRequest* request,
                                      v1::ReportNodesResponse* response) {
  const ReportingCaller caller(rpc::NarrowedTo(*context),
                               rpc::ScopeOf(*context, access::Verb::kSync),
                               rpc::ScopeOf(*context, access::Verb::kReport).get());
  const auto parse = [&](const v1::ReportNodesRequest& asked, Faults& faults) {
    Reports reports = kParseReports(asked, faults);
    NoteHeard(asked,
              [&](const Place& place) { return caller.Sees(place) && caller.IsAgentOf(place); });
    return reports;
  };
  return rpc::Write(context, writer_, *request, response, parse, DecideReports{caller},
                    RenderReports{reports_});
}

}  // namespace muster::lifecycle
