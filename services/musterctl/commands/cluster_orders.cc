#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "services/common/count_text.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/words.h"

// What is asked of one cluster: which Kubernetes it is, and that removals go on.
namespace muster::musterctl {
namespace {

// The words of the command line for the request's fields.
absl::Status WithFlagNames(const absl::Status& status) {
  return RenameFields(status, [](const std::string& field) {
    if (field == "name") return std::string("CLUSTER");
    if (field == "kubernetes_uid") return std::string("--kubernetes-uid");
    if (field == "node_pools") return std::string("--node-pools");
    return absl::StrCat("--", field == "ttl" ? "for" : field);
  });
}

}  // namespace

absl::Status Bind(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const ResourceId id,
                   ReadOne(line.arguments, {Kind::kCluster}, "bind: cluster NAME"));
  if (!line.Has("kubernetes-uid")) return WrongUse("bind: --kubernetes-uid is missing");
  lifecycle::v1::BindClusterRequest request;
  request.set_name(id.id);
  request.set_kubernetes_uid(line.Get("kubernetes-uid"));
  // A bind by hand is meant for the pools that exist already, too.
  request.set_adopt(true);
  request.set_replaces(line.Get("replaces"));
  request.set_validate_only(line.Has("dry-run"));
  const auto cluster = session.api.BindCluster(request);
  if (!cluster.ok()) return WithFlagNames(cluster.status());
  session.env.out << Label(id) << (line.Has("dry-run") ? " would be" : " is") << " the Kubernetes "
                  << request.kubernetes_uid() << "\n";
  return absl::OkStatus();
}

absl::Status Allow(Session& session) {
  const CommandLine& line = session.line;
  if (line.arguments.size() != 2 || line.arguments[0] != "removals")
    return WrongUse("allow: removals CLUSTER");
  ResourceId id{Kind::kCluster, line.arguments[1]};
  if (absl::StrContains(id.id, "/")) {
    ASSIGN_OR_RETURN(id, ReadOne(absl::MakeSpan(&line.arguments[1], 1), {Kind::kCluster},
                                 "allow: removals CLUSTER"));
  }
  const auto pools = ParseCount("--node-pools", line.Get("node-pools"));
  const auto nodes = ParseCount("--nodes", line.Get("nodes"));
  const auto ttl = ParseTimeout("--for", line.Get("for"));
  for (const absl::Status& status : {pools.status(), nodes.status(), ttl.status()}) {
    if (!status.ok()) return WrongUse(status.message());
  }
  lifecycle::v1::AllowRemovalsRequest request;
  request.set_name(id.id);
  request.set_node_pools(*pools);
  request.set_nodes(*nodes);
  request.mutable_ttl()->set_seconds(absl::ToInt64Seconds(*ttl));
  request.mutable_ttl()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(*ttl % absl::Seconds(1))));
  request.set_validate_only(line.Has("dry-run"));
  const auto cluster = session.api.AllowRemovals(request);
  if (!cluster.ok()) return WithFlagNames(cluster.status());
  session.env.out << Label(id) << ": " << CountText(*pools, "NodePool") << " and "
                  << CountText(*nodes, "Node") << (line.Has("dry-run") ? " might" : " may")
                  << " go, until " << FormatTime(cluster->removal_allowance().expire_time())
                  << "\n";
  return absl::OkStatus();
}

}  // namespace muster::musterctl
