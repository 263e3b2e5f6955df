// Of PoolReconciler: how an object's pool goes, and the object with it.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/refusal.h"
#include "services/kubernetes/pool_reconciler.h"
#include "services/kubernetes/withheld.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::NodePool;

constexpr char kPoolKind[] = "node_pool";
constexpr char kByItsFinalizer[] =
    "The API server, which refuses to have the adapter's finalizer removed,";

// As far as its status tells.
bool ShowsNodes(const NodePoolObject& object) {
  return NumberOf(MemberOf(object.status, "currentNodes")) > 0 ||
         NumberOf(MemberOf(object.status, "inProgress")) > 0;
}

}  // namespace

Outcome PoolReconciler::ReconcileMissing(const std::string& name, const Pool& pool) {
  {
    MutexLock lock(mutex_);
    memories_.erase(name);
  }
  // One that was made by Muster's own API has no object, and needs none.
  if (pool == nullptr || pool->object_generation() == 0 || pool->has_delete_time()) return {};
  const auto found = parts_.api->Get(absl::StrCat(kNodePoolsPath, "/", name));
  if (found.ok()) {
    parts_.cluster->node_pools().Put(*found);
    return {};
  }
  if (!absl::IsNotFound(found.status())) return found.status();
  RETURN_IF_ERROR(parts_.identity->ConfirmBinding());
  const History::Verdict verdict = parts_.brake->Judge(pool->uid());
  if (const auto held = Withheld(verdict, *parts_.history, kPoolKind)) return *held;
  log::Warn("the NodePool is gone without its finalizer; its Nodes are removed", {{"name", name}});
  return parts_.muster->DeleteNodePool(*pool);
}

absl::Status PoolReconciler::RemoveFormer(const NodePoolObject& object, const NodePool& pool,
                                          Memory& memory) {
  const bool made_here = pool.object_generation() != 0;
  const std::string former = made_here ? absl::StrCat("of an earlier object (uid ", pool.uid(), ")")
                                       : "that was not made through Kubernetes";
  // The object is refused as long as that pool is there.
  const auto refuse = [&](absl::string_view why, Refusal::Kind kind = Refusal::Kind::kInvalid) {
    memory.refusal = Refusal{
        object.generation,
        absl::StrCat("metadata.name: the cluster has a node pool ", object.name, " ", former, why),
        kind};
    return absl::OkStatus();
  };
  const auto wait_for_it = [&] {
    return refuse(", whose Nodes are being removed.", Refusal::Kind::kFormer);
  };
  if (pool.has_delete_time()) return wait_for_it();
  if (!made_here) return refuse(".");
  ASSIGN_OR_RETURN(const Json now, parts_.api->Get(PathOf(object)));
  if (ReadNodePool(now).uid != object.uid) {
    parts_.cluster->node_pools().Put(now);
    return absl::AbortedError("the object is another one now");
  }
  RETURN_IF_ERROR(parts_.identity->ConfirmBinding());
  switch (parts_.brake->Judge(pool.uid())) {
    case History::Verdict::kWait:
      return absl::UnavailableError("it is not known yet whether the former pool may go");
    case History::Verdict::kKeep:
      parts_.history->CountKept(kPoolKind);
      return refuse(parts_.history->accepted()
                        ? ", and more than a few would go: its removal is held."
                        : ", from before Muster's database was restored. It goes once "
                          "Muster's history is accepted.");
    case History::Verdict::kObey:
      break;
  }
  const absl::Status ordered = parts_.muster->DeleteNodePool(pool);
  if (absl::IsPermissionDenied(ordered)) {
    (void)refuse(absl::StrCat(". ", UndeletedMessage("Muster", ordered.message())),
                 Refusal::Kind::kForbidden);
  }
  RETURN_IF_ERROR(ordered);
  return wait_for_it();
}

Outcome PoolReconciler::ReconcileDeleting(const NodePoolObject& object,
                                          const MusterView::PoolView& view, Memory& memory) {
  // Somebody else's finalizer may hold it without ours: its Nodes go all the same.
  if (view.pool != nullptr) {
    absl::Status ordered;
    if (!view.pool->has_delete_time()) {
      // Else the pool may have gone over to another Kubernetes with its cluster.
      RETURN_IF_ERROR(parts_.identity->ConfirmBinding());
      ordered = parts_.muster->DeleteNodePool(*view.pool);
    }
    NoteUndeleted(object, ordered, memory);
    return ordered.ok() ? ShowStatus(object, view, memory)
                        : ShowThough(ordered, object, view, memory);
  }
  // Before Muster is asked for the pool: a cluster that it does not show may have it, with its
  // Nodes. What it told the end of has ended.
  if (ShowsNodes(object) && !parts_.muster_view->SawEndOfPool(object.uid)) {
    if (const auto held = WithheldWithoutCluster(*parts_.identity, *parts_.history, kPoolKind,
                                                 parts_.refusal_retry))
      return ShowKept(*held, object, MissedClusterMessage(LastIdOf(parts_.muster->cluster())),
                      memory);
  }
  const auto found = parts_.muster->GetNodePool(parts_.muster->PoolName(object.name));
  if (found.ok() && found->uid() == object.uid) return Later(kWatchIsLate);
  if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
  // In a history that is not accepted its Nodes may run, unknown.
  const History::Verdict verdict = parts_.history->Judge(object.uid);
  if (const auto held =
          Withheld(verdict, *parts_.history, kPoolKind, Later(parts_.refusal_retry))) {
    if (verdict != History::Verdict::kKeep) return *held;
    return ShowKept(*held, object, std::string(kUnacceptedMessage), memory);
  }
  const Outcome told = ShowGone(object, memory);
  // What the API server refuses is never told: the object does not stay for that.
  const bool is_refused =
      absl::IsPermissionDenied(told.status) || absl::IsInvalidArgument(told.status);
  if (is_refused) {
    log::Warn("the NodePool goes without its last status, which the API server refuses",
              {{"name", object.name}, {"error", told.status}});
  } else if (!told.status.ok() || told.again < absl::InfiniteDuration()) {
    return told;
  }
  const Object now = parts_.cluster->node_pools().Find(object.name);
  const bool is_ours = now != nullptr && now->uid == object.uid && now->HasFinalizer();
  return is_ours ? RemoveFinalizer(*now, memory) : Outcome();
}

Outcome PoolReconciler::ShowKept(Outcome kept, const NodePoolObject& object, std::string why,
                                 Memory& memory) {
  if (!kept.status.ok()) return kept;
  NoteRefusal(object, Refusal{object.generation, std::move(why), Refusal::Kind::kUndeleted},
              memory);
  Outcome shown = ShowStatus(object, {}, memory);
  shown.again = std::min(shown.again, kept.again);
  return shown;
}

void PoolReconciler::NoteUndeleted(const NodePoolObject& object, const absl::Status& ordered,
                                   Memory& memory) {
  if (absl::IsPermissionDenied(ordered)) {
    NoteRefusal(object,
                Refusal{object.generation, UndeletedMessage("Muster", ordered.message()),
                        Refusal::Kind::kUndeleted},
                memory);
  } else if (ordered.ok() && memory.refusal && memory.refusal->kind == Refusal::Kind::kUndeleted) {
    memory.refusal.reset();
  }
}

Outcome PoolReconciler::FollowDeletion(const NodePoolObject& object,
                                       const MusterView::PoolView& view, Memory& memory) {
  RETURN_IF_ERROR(parts_.identity->Confirm());
  const absl::Status status = parts_.writer->Delete(PathOf(object), object.uid);
  if (status.ok() || absl::IsNotFound(status)) {
    log::Warn("the NodePool was deleted in Muster; its object goes, too", {{"name", object.name}});
    return {};
  }
  // One that may not be deleted shows what becomes of its Nodes, at least.
  return ShowThough(status, object, view, memory);
}

absl::Status PoolReconciler::RemoveFinalizer(const NodePoolObject& object, Memory& memory) {
  std::vector<std::string> rest = object.finalizers;
  rest.erase(std::remove(rest.begin(), rest.end(), kFinalizer), rest.end());
  const Json patch = {
      {"metadata",
       {{"uid", object.uid}, {"resourceVersion", object.resource_version}, {"finalizers", rest}}}};
  const auto written = parts_.writer->Patch(PatchType::kMerge, PathOf(object), patch,
                                            {{"fieldManager", kFieldManager}});
  if (absl::IsNotFound(written.status())) return absl::OkStatus();
  if (IsForbidden(written.status())) {
    const std::string why = UndeletedMessage(kByItsFinalizer, written.status().message());
    NoteRefusal(object, Refusal{object.generation, why, Refusal::Kind::kUndeleted}, memory);
  }
  return written.status();
}

}  // namespace muster::kubernetes
