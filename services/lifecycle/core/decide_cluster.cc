#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/put_pool.h"

namespace muster::lifecycle {
namespace {

Outcome PutCluster(StagedState<State>& staged, Cluster cluster) {
  const std::string name = cluster.name;
  staged.Put(std::move(cluster));
  return Outcome{.cluster = *staged.state().table<Cluster>().Find(name)};
}

// The cluster as it is, if it may be changed.
absl::StatusOr<Cluster> FindCluster(const State& state, const std::string& name,
                                    const std::string& etag) {
  const Cluster* cluster = state.table<Cluster>().Find(name);
  if (cluster == nullptr) return muster::error::NotFound(name);
  RETURN_IF_ERROR(CheckEtag<Cluster>(state, name, etag));
  return *cluster;
}

// Ids of the cluster's pools, a few of them.
std::vector<absl::string_view> SomePools(const State& state, const std::string& cluster) {
  constexpr size_t kSome = 3;
  std::vector<absl::string_view> some;
  state.ForEachPoolOf(cluster, [&](const Pool& pool) {
    some.push_back(LastIdOf(pool.name));
    return some.size() < kSome;
  });
  return some;
}

// Null when no other cluster is that Kubernetes.
const Cluster* FindOtherOf(const State& state, const BindCluster& command) {
  for (const auto& [name, row] : state.table<Cluster>().rows()) {
    if (row.row->kubernetes_uid == command.kubernetes_uid && name != command.name)
      return row.row.get();
  }
  return nullptr;
}

// True when the command only takes from the order that was given last, which its caller has seen
// (etag): that order then keeps its end, because the caller computed `ttl` by a clock of its own.
bool TakesOff(const Cluster::Allowance& standing, const AllowRemovals& command) {
  return !command.etag.empty() && command.node_pools <= standing.node_pools &&
         command.nodes <= standing.nodes;
}

}  // namespace

StatusOrOutcome Decide(StagedState<State>& staged, const UpdateCluster& command, absl::Time now) {
  const Cluster& asked = command.cluster;
  const Cluster* before = staged.state().table<Cluster>().Find(asked.name);
  // Other fields are written by commands of their own.
  Cluster cluster = before == nullptr ? Cluster{.name = asked.name, .create_time = now} : *before;
  cluster.zone = asked.zone;
  cluster.kubernetes_version = asked.kubernetes_version;
  // A repeated command has an old etag, see BindCluster.
  if (before == nullptr || cluster != *before)
    RETURN_IF_ERROR(CheckEtag<Cluster>(staged.state(), asked.name, command.etag));
  if (before != nullptr && before->zone != cluster.zone) return error::ZoneChanged(cluster.name);
  const absl::string_view organization = OrganizationOf(cluster.name);
  if (before == nullptr && staged.state().CountOf(organization).clusters >= command.limits.clusters)
    return error::TooManyClusters(organization, command.limits.clusters);
  return PutCluster(staged, std::move(cluster));
}

StatusOrOutcome Decide(StagedState<State>& staged, const DeleteCluster& command,
                       absl::Time /*now*/) {
  const absl::StatusOr<Cluster> cluster = FindCluster(staged.state(), command.name, command.etag);
  if (absl::IsNotFound(cluster.status()) && command.allow_missing) return Outcome{};
  RETURN_IF_ERROR(cluster.status());
  const std::vector<absl::string_view> pools = SomePools(staged.state(), command.name);
  if (!pools.empty()) return error::ClusterInUse(command.name, pools);
  staged.Delete<Cluster>(command.name);
  return Outcome{};
}

StatusOrOutcome Decide(StagedState<State>& staged, const BindCluster& command, absl::Time /*now*/) {
  const State& state = staged.state();
  // A caller whose answer was lost repeats the command with an etag that is old by now.
  const Cluster* before = state.table<Cluster>().Find(command.name);
  if (before != nullptr && before->kubernetes_uid == command.kubernetes_uid)
    return PutCluster(staged, *before);
  // The adapter would take the other's v1 Nodes for unknown to Muster, and remove them. Also where
  // there is no such cluster yet: whoever asks first need not make one.
  if (const Cluster* other = FindOtherOf(state, command))
    return error::KubernetesTaken(command.name, other->name, command.kubernetes_uid);
  ASSIGN_OR_RETURN(Cluster cluster, FindCluster(state, command.name, command.etag));
  const std::string& bound = cluster.kubernetes_uid;
  // A caller that replaces another binding than there is has an old snapshot.
  if (bound != command.replaces)
    return error::ClusterBound(command.name, bound,
                               bound.empty() ? command.replaces : command.kubernetes_uid);
  if (bound.empty() && !command.adopt && !SomePools(state, command.name).empty())
    return error::ClusterHasPools(command.name, command.kubernetes_uid);
  cluster.kubernetes_uid = command.kubernetes_uid;
  // The allowance was given for what was seen of the other Kubernetes.
  cluster.allowance = {};
  return PutCluster(staged, std::move(cluster));
}

StatusOrOutcome Decide(StagedState<State>& staged, const AllowRemovals& command, absl::Time now) {
  ASSIGN_OR_RETURN(Cluster cluster, FindCluster(staged.state(), command.name, command.etag));
  absl::Time until = now + command.ttl;
  if (TakesOff(cluster.allowance, command)) {
    // Else an adapter whose clock is behind would begin it anew.
    if (cluster.allowance.expire_time <= now) return error::AllowanceEnded(command.name);
    until = std::min(until, cluster.allowance.expire_time);
  }
  cluster.allowance = {.node_pools = command.node_pools,
                       .nodes = command.nodes,
                       .create_time = now,
                       .expire_time = until};
  return PutCluster(staged, std::move(cluster));
}

}  // namespace muster::lifecycle
