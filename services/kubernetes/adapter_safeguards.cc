// What the adapter does not take the other side's word for: histories, and absences.
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/event_reasons.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/adapter.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/status.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

Brake::Order OrderOf(const lifecycle::v1::Cluster& cluster) {
  if (!cluster.has_removal_allowance()) return {};
  const lifecycle::v1::RemovalAllowance& allowance = cluster.removal_allowance();
  return {
      {allowance.node_pools(), allowance.nodes()}, TimeOf(allowance.expire_time()), cluster.etag()};
}

}  // namespace

void Adapter::MakeHistory() {
  const std::string lease = options_.lease.path();
  History::Parts parts{.metrics = metrics_.get()};
  parts.read = [this, lease]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const Json found, api_->Get(lease));
    return TextOf(MemberOf(found, "metadata", "annotations", kHistoryAnnotation));
  };
  parts.write = [this, lease](const std::string& incarnation) {
    const Json patch = {{"metadata", {{"annotations", {{kHistoryAnnotation, incarnation}}}}}};
    return api_->Patch(PatchType::kMerge, lease, patch, {{"fieldManager", kFieldManager}}).status();
  };
  parts.look = [this] { return FindUnknown(); };
  parts.show = [this](const std::string& node, const std::string& incarnation) {
    events_->TellOfNodeOnce(
        node, kNodeUnknownEvent,
        absl::StrCat("Muster's history ", incarnation,
                     " does not know this Node: its database was restored to an earlier time, or "
                     "lost its last changes. The Node is kept. If it is not to stay, delete it; to "
                     "remove all such Nodes set the annotation ",
                     kHistoryAnnotation, "=", incarnation, " on the Lease ",
                     options_.lease.name_space, "/", options_.lease.lease, "."));
  };
  parts.again = [this](const History::Unknown& unknown) {
    for (const std::string& node : unknown.nodes) nodes_->Add(MachineOf(node));
    for (const std::string& name : unknown.node_pools) pools_->Add(name);
  };
  history_ = std::make_unique<History>(std::move(parts));
}

std::string Adapter::MachineOf(const std::string& node) const {
  const auto object = cluster_->nodes().Find(node);
  if (object == nullptr) return node;
  const std::string machine = ProviderMachine(*object);
  return muster_view_->NodeOf(machine) != nullptr ? machine : node;
}

History::Unknown Adapter::FindUnknown() const {
  History::Unknown unknown;
  for (const auto& object : cluster_->nodes().All()) {
    const auto node = muster_view_->NodeOf(MachineOf(object->name));
    if (IsUnknown(node.get(), *object)) unknown.nodes.push_back(object->name);
  }
  for (const auto& pool : muster_view_->AllPools()) {
    const std::string name(LastIdOf(pool->name()));
    if (pool->object_generation() == 0 || pool->has_delete_time()) continue;
    const auto object = cluster_->node_pools().Find(name);
    if (object == nullptr || object->uid != pool->uid()) unknown.node_pools.push_back(name);
  }
  return unknown;
}

void Adapter::MakeBrake() {
  Brake::Parts parts{.cluster = muster_->cluster(),
                     .limits = options_.removals_unasked,
                     .metrics = metrics_.get(),
                     .history = history_.get()};
  parts.look = [this] { return FindRemovals(); };
  parts.order = [this]() -> absl::StatusOr<Brake::Order> {
    ASSIGN_OR_RETURN(const lifecycle::v1::Cluster cluster, muster_->GetCluster());
    return OrderOf(cluster);
  };
  parts.take = [this](const Brake::Order& order,
                      const Removals& going) -> absl::StatusOr<Brake::Order> {
    const Removals left = order.allowed - going;
    ASSIGN_OR_RETURN(const lifecycle::v1::Cluster cluster,
                     muster_->AllowRemovals(left.node_pools, left.nodes,
                                            order.expire_time - absl::Now(), order.etag));
    return OrderOf(cluster);
  };
  parts.wake = [this] {
    look_ = true;
    stopper_.Wake();
  };
  parts.show = [this](const Brake::Candidate& of, const std::string& message, bool begins) {
    ShowHeld(of, message, begins);
  };
  parts.again = [this](const std::vector<std::string>& nodes,
                       const std::vector<std::string>& node_pools) {
    for (const std::string& node : nodes) nodes_->Add(MachineOf(node));
    for (const std::string& name : node_pools) pools_->Add(name);
  };
  brake_ = std::make_unique<Brake>(std::move(parts));
}

void Adapter::ShowHeld(const Brake::Candidate& of, const std::string& message, bool begins) {
  // A v1 Node that says no pool: the log and the metric tell of it.
  if (of.pool.empty()) return;
  const auto object = cluster_->node_pools().Find(of.pool);
  // Not again after a restart: then the object says so already.
  const bool is_told =
      object != nullptr && object->uid == of.pool_uid && SaysHeld(object->status).has_value();
  if (begins && !is_told) {
    NodePoolObject pool;
    pool.name = of.pool;
    pool.uid = of.pool_uid;
    events_->Tell(pool, kRemovalsHeldEvent, message);
  }
  pools_->Add(of.pool);
}

void Adapter::FindNodesToGo(Brake::PendingRemovals& pending) const {
  for (const auto& object : cluster_->nodes().All()) {
    const auto node = muster_view_->NodeOf(MachineOf(object->name));
    const bool ours = !OrphanName(*object, "").empty();
    if (ours || node != nullptr) ++pending.all_nodes.nodes;
    // One that bears the mark of another life need not be ours otherwise.
    const bool goes =
        node == nullptr ? ours : CompareLives(*node, *object) != 0 && !IsTakenOver(*node, *object);
    if (!goes || object->deleting) continue;
    if (IsToldToGo(*object) || muster_view_->SawEndOf(*object)) continue;
    if (history_->Judge(object->uid) != History::Verdict::kObey) continue;
    const auto label = [&](const char* key) {
      const auto found = object->labels.find(key);
      return found == object->labels.end() ? std::string() : found->second;
    };
    const auto pool = cluster_->node_pools().Find(label(kPoolLabel));
    pending.nodes.push_back({.uid = object->uid,
                             .name = object->name,
                             .pool = label(kPoolLabel),
                             .pool_uid = pool == nullptr ? label(kPoolUidLabel) : pool->uid,
                             .nodes = 1});
  }
}

void Adapter::FindPoolsToGo(Brake::PendingRemovals& pending) const {
  for (const auto& pool : muster_view_->AllPools()) {
    if (pool->object_generation() == 0) continue;
    const auto nodes = static_cast<int64_t>(muster_view_->NodesOf(pool->uid()).size());
    pending.all_pools = pending.all_pools + Removals{1, nodes};
    if (pool->has_delete_time()) continue;
    const std::string name(LastIdOf(pool->name()));
    const auto object = cluster_->node_pools().Find(name);
    if (object != nullptr && object->uid == pool->uid()) continue;
    if (history_->Judge(pool->uid()) != History::Verdict::kObey) continue;
    pending.node_pools.push_back({.uid = pool->uid(),
                                  .name = name,
                                  .pool = name,
                                  .pool_uid = object == nullptr ? pool->uid() : object->uid,
                                  .nodes = nodes});
  }
}

Brake::PendingRemovals Adapter::FindRemovals() const {
  Brake::PendingRemovals pending;
  FindNodesToGo(pending);
  FindPoolsToGo(pending);
  return pending;
}

}  // namespace muster::kubernetes
