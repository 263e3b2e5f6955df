#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/cells.h"

// Which cell a change goes to.
namespace muster::musterctl {
namespace {

// The resource (zone or cluster) whose cell a new or changed resource is sent to. nullopt: it is
// sent to all cells.
struct GoesWith {
  using Place = std::optional<ResourceId>;

  static Place InZone(const std::string& zone) { return ResourceId{Kind::kZone, zone}; }

  Place operator()(const capacity::v1::Zone& zone) const { return InZone(zone.name()); }
  Place operator()(const capacity::v1::InstanceType&) const { return std::nullopt; }
  Place operator()(const MachineSet& set) const { return InZone(set.machines.front().zone()); }
  Place operator()(const capacity::v1::Machine& machine) const { return InZone(machine.zone()); }
  Place operator()(const quota::v1::Quota& quota) const {
    const std::vector<std::string> parts =
        absl::StrSplit(IdOfName(Kind::kQuota, quota.name()), '~');
    return InZone(parts[0]);
  }
  Place operator()(const configuration::v1::Release&) const { return std::nullopt; }
  Place operator()(const lifecycle::v1::Cluster& cluster) const { return InZone(cluster.zone()); }
  Place operator()(const lifecycle::v1::NodePool& pool) const {
    return ResourceId{Kind::kCluster, ClusterOf(pool.name())};
  }
};

void AddDetail(const std::string& more, Applied& applied) {
  absl::StrAppend(&applied.detail, applied.detail.empty() ? "" : "; ", more);
}

}  // namespace

absl::StatusOr<Api*> CellsApi::ToChange(const ResourceId& resource) {
  ASSIGN_OR_RETURN(const Home home, FindForChange(resource));
  return home.cell->api.get();
}

absl::StatusOr<CellNames> CellsApi::ChangeEach(absl::FunctionRef<absl::Status(Api&)> change) {
  const std::vector<const Cell*> asked = Present();
  const Round round =
      RoundOf(asked, SideBySide(asked, [&](const Cell* cell) { return change(*cell->api); }));
  RETURN_IF_ERROR(ConcludeChange(round));
  CellNames names;
  for (const Cell* cell : round.answered) names.push_back(cell->name);
  return names;
}

absl::StatusOr<Applied> CellsApi::ApplyToEach(const Resource& resource, const WriteMode& mode) {
  WriteMode quiet = mode;
  quiet.progress = nullptr;  // counts the machines of one server
  std::vector<Answer<Applied>> answers;
  const Round round =
      AskEach([&](const Cell& cell) { return cell.api->Apply(resource, quiet); }, answers);
  RETURN_IF_ERROR(ConcludeChange(round));
  Applied all = std::move(answers.back().said);
  CellNames names;
  for (const Answer<Applied>& answer : answers) {
    names.push_back(answer.cell->name);
    // Outcomes may differ: in some cells the resource may be new.
    const bool is_last = &answer == &answers.back();
    if (!is_last && answer.said.outcome != all.outcome) all.outcome = Outcome::kConfigured;
  }
  AddDetail(absl::StrCat("in ", absl::StrJoin(names, ", ")), all);
  return all;
}

absl::Status CellsApi::CheckMove(const lifecycle::v1::Cluster& cluster, const Cell& cell) {
  const auto found = GetEvery(Kind::kCluster, cluster.name());
  if (absl::IsNotFound(found.status())) return absl::OkStatus();
  RETURN_IF_ERROR(found.status());
  for (const Item& item : *found) {
    if (item.cell == cell.name) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("it is in cell ", item.cell, ", and zone ", cluster.zone(), " in cell ",
                     cell.name, ": a cluster moves by being deleted and made anew"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Applied> CellsApi::Apply(const Resource& resource, const WriteMode& mode) {
  const std::optional<ResourceId> with = std::visit(GoesWith(), resource);
  if (!with) return ApplyToEach(resource, mode);
  const absl::StatusOr<Home> home = FindForChange(*with);
  if (absl::IsNotFound(home.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("no cell has ", KindWord(with->kind), " \"", IdOfName(with->kind, with->id),
                     "\"; --context=NAME says which is to have it"));
  }
  RETURN_IF_ERROR(home.status());
  if (const auto* cluster = std::get_if<lifecycle::v1::Cluster>(&resource))
    RETURN_IF_ERROR(CheckMove(*cluster, *home->cell));
  ASSIGN_OR_RETURN(Applied applied, home->cell->api->Apply(resource, mode));
  AddDetail(absl::StrCat("in ", home->cell->name), applied);
  return applied;
}

absl::StatusOr<Applied> CellsApi::UpdateNodePool(const lifecycle::v1::NodePool& pool,
                                                 const std::vector<std::string>& paths,
                                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kNodePool, pool.name()}));
  return api->UpdateNodePool(pool, paths, mode);
}

absl::StatusOr<lifecycle::v1::NodePool> CellsApi::DeleteNodePool(const std::string& id,
                                                                 bool dry_run) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kNodePool, id}));
  return api->DeleteNodePool(id, dry_run);
}

absl::StatusOr<lifecycle::v1::NodePool> CellsApi::Resize(
    lifecycle::v1::ResizeNodePoolRequest request) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kNodePool, request.name()}));
  return api->Resize(std::move(request));
}

absl::StatusOr<lifecycle::v1::NodePool> CellsApi::Reconfigure(
    lifecycle::v1::ReconfigureNodePoolRequest request) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kNodePool, request.name()}));
  return api->Reconfigure(std::move(request));
}

absl::StatusOr<lifecycle::v1::NodePool> CellsApi::ControlReconfiguration(ReconfigurationVerb verb,
                                                                         const std::string& id,
                                                                         bool dry_run) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kNodePool, id}));
  return api->ControlReconfiguration(verb, id, dry_run);
}

absl::StatusOr<lifecycle::v1::Node> CellsApi::UpdateNode(const std::string& pool,
                                                         const std::string& machine,
                                                         const lifecycle::v1::Node& changed,
                                                         const std::string& field, bool dry_run) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kNodePool, pool}));
  return api->UpdateNode(pool, machine, changed, field, dry_run);
}

absl::StatusOr<lifecycle::v1::Node> CellsApi::OrderNode(const std::string& pool,
                                                        const std::string& machine,
                                                        const NodeOrder& order) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kNodePool, pool}));
  return api->OrderNode(pool, machine, order);
}

absl::StatusOr<capacity::v1::Machine> CellsApi::SetMachineState(const std::string& machine,
                                                                capacity::v1::Machine::State state,
                                                                bool dry_run) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kMachine, machine}));
  return api->SetMachineState(machine, state, dry_run);
}

absl::StatusOr<lifecycle::v1::Cluster> CellsApi::BindCluster(
    lifecycle::v1::BindClusterRequest request) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kCluster, request.name()}));
  return api->BindCluster(std::move(request));
}

absl::StatusOr<lifecycle::v1::Cluster> CellsApi::AllowRemovals(
    lifecycle::v1::AllowRemovalsRequest request) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kCluster, request.name()}));
  return api->AllowRemovals(std::move(request));
}

absl::StatusOr<CellNames> CellsApi::DeleteItem(const ResourceId& resource, bool dry_run) {
  if (resource.kind == Kind::kRelease || resource.kind == Kind::kInstanceType)
    return ChangeEach([&](Api& api) { return api.DeleteItem(resource, dry_run).status(); });
  ASSIGN_OR_RETURN(Api* const api, ToChange(resource));
  return api->DeleteItem(resource, dry_run);
}

absl::StatusOr<CellNames> CellsApi::PublishRelease(const std::string& name, bool dry_run) {
  return ChangeEach([&](Api& api) { return api.PublishRelease(name, dry_run).status(); });
}

absl::StatusOr<CellNames> CellsApi::WithdrawRelease(const std::string& name, bool dry_run) {
  return ChangeEach([&](Api& api) { return api.WithdrawRelease(name, dry_run).status(); });
}

absl::StatusOr<configuration::v1::PoolConfiguration> CellsApi::Promote(const std::string& pool_uid,
                                                                       const std::string& profile,
                                                                       bool dry_run) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kConfiguration, pool_uid}));
  return api->Promote(pool_uid, profile, dry_run);
}

absl::StatusOr<configuration::v1::PoolConfiguration> CellsApi::Rollback(const std::string& pool_uid,
                                                                        const std::string& profile,
                                                                        bool dry_run) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kConfiguration, pool_uid}));
  return api->Rollback(pool_uid, profile, dry_run);
}

absl::StatusOr<configuration::v1::PoolConfiguration> CellsApi::EnableRevision(
    const std::string& pool_uid, const std::string& profile, bool dry_run) {
  ASSIGN_OR_RETURN(Api* const api, ToChange({Kind::kConfiguration, pool_uid}));
  return api->EnableRevision(pool_uid, profile, dry_run);
}

}  // namespace muster::musterctl
