#include "services/kubernetes/pool_reconciler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/kubernetes_names.h"
#include "services/common/log.h"
#include "services/common/request_id.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_metadata.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/refusal.h"
#include "services/kubernetes/core/text.h"
#include "services/kubernetes/withheld.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::NodePool;

constexpr char kByFinalizer[] = "The API server, which refuses the adapter's finalizer,";

const Parameters& ApplyParameters() {
  static const auto& parameters =
      *new Parameters{{"fieldManager", kFieldManager}, {"force", "true"}};
  return parameters;
}

Json Frame(const NodePoolObject& object) {
  return {{"apiVersion", kNodePoolApiVersion},
          {"kind", "NodePool"},
          {"metadata", {{"name", object.name}, {"uid", object.uid}}}};
}

// Whether a status was not written because the API server refuses it, now or a moment ago: that
// says nothing of the object, or of the lease.
bool IsStatusRefused(const absl::Status& status) {
  const ApiError error = ErrorOf(status);
  const bool is_held_back = error.code == 0 && error.retry_after > absl::ZeroDuration();
  return is_held_back || (error.code != 0 && !absl::IsNotFound(status) &&
                          !absl::IsAborted(status) && !absl::IsUnauthenticated(status));
}

}  // namespace

std::string PoolReconciler::PathOf(const NodePoolObject& object) {
  return absl::StrCat(kNodePoolsPath, "/", object.name);
}

bool PoolReconciler::IsForbidden(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status) ||
         (ErrorOf(status).code == 500 && absl::StrContains(status.message(), "webhook"));
}

PoolReconciler::Memory& PoolReconciler::MemoryOf(const std::string& name) {
  MutexLock lock(mutex_);
  return memories_[name];
}

void PoolReconciler::ForgetOutdated(const NodePoolObject& object, Memory& memory) const {
  if (memory.uid != object.uid) memory = {.uid = object.uid};
  // What was said in a history that is gone was never said.
  const std::optional<std::string> here = parts_.history->current();
  if (here && std::exchange(memory.incarnation, here) != here) {
    memory.object_generation = 0;
    memory.muster_generation = 0;
    memory.refusal = std::nullopt;
    memory.by_word = false;
  }
  NoteOrders(object, memory);
}

void PoolReconciler::NoteOrders(const NodePoolObject& object, Memory& memory) {
  if (memory.promote == object.promote && memory.rollback == object.rollback) return;
  memory.promote = object.promote;
  memory.rollback = object.rollback;
  memory.order_id = NewRequestId();
  memory.by_word = false;
}

Outcome PoolReconciler::Reconcile(const std::string& name) {
  const auto here = parts_.history->current();
  // A snapshot is under way: whose history it is decides what was said before.
  if (!here) return Later(kWatchIsLate);
  MusterView::PoolView view = parts_.muster_view->Pool(name);
  Object object = parts_.cluster->node_pools().Find(name);
  if (object == nullptr) return ReconcileMissing(name, view.pool);
  Memory& memory = MemoryOf(name);
  ForgetOutdated(*object, memory);
  if (view.pool != nullptr && view.pool->uid() != object->uid) {
    const absl::Status removed = RemoveFormer(*object, *view.pool, memory);
    view = {};
    if (!removed.ok()) return ShowThough(removed, *object, view, memory);
    if (!object->deleting) return UpdateObject(*object, view, memory);
  }
  if (view.pool != nullptr) parts_.history->See(here, object->uid);
  if (object->deleting) return ReconcileDeleting(*object, view, memory);
  const bool deleted = view.pool != nullptr ? view.pool->has_delete_time()
                                            : parts_.muster_view->SawEndOfPool(object->uid);
  if (deleted) return FollowDeletion(*object, view, memory);
  if (!object->HasFinalizer()) {
    const absl::Status held = AddFinalizer(*object, memory);
    if (!held.ok()) return ShowThough(held, *object, view, memory);
    object = parts_.cluster->node_pools().Find(name);
    if (object == nullptr || object->deleting) return Later(absl::ZeroDuration());
    ForgetOutdated(*object, memory);
  }
  const absl::Status sent = SyncSpec(*object, view.pool, memory);
  return sent.ok() ? UpdateObject(*object, view, memory) : ShowThough(sent, *object, view, memory);
}

Outcome PoolReconciler::ShowThough(const absl::Status& failed, const NodePoolObject& object,
                                   const MusterView::PoolView& view, Memory& memory) {
  Outcome outcome = ShowStatus(object, view, memory);
  if (outcome.status.ok()) outcome.status = failed;
  return outcome;
}

Outcome PoolReconciler::UpdateObject(const NodePoolObject& object, const MusterView::PoolView& view,
                                     Memory& memory) {
  Outcome outcome = ShowStatus(object, view, memory);
  const std::optional<Refusal>& refusal = memory.refusal;
  // Nothing tells that there is room again.
  if (refusal) outcome.again = std::min(outcome.again, RetryOf(*refusal));
  if (!outcome.status.ok() && !IsStatusRefused(outcome.status)) return outcome;
  absl::StatusOr<OrdersLeft> left = OrdersLeft::kNone;
  absl::Status noted;
  // Orders out of a past were carried out then, or taken back; without a pool of its own nothing
  // comes of any.
  if (view.pool == nullptr || (refusal && refusal->kind == Refusal::Kind::kRestored)) {
    left = RefuseOrders(object, memory);
  } else {
    // A note that is refused is in no order's way, nor is a status.
    noted = NoteGrantable(object, *view.pool, memory);
    left = CarryOutOrder(object, view.pool, memory);
  }
  // The status that waits for its time does not wait for the order's next try.
  if (!left.ok()) {
    outcome.status = left.status();
    return outcome;
  }
  switch (*left) {
    case OrdersLeft::kNone:
      outcome.status.Update(noted);
      break;
    case OrdersLeft::kMaybe:
      outcome.again = absl::ZeroDuration();
      break;
  }
  return outcome;
}

absl::Status PoolReconciler::AddFinalizer(const NodePoolObject& object, Memory& memory) {
  Json patch = Frame(object);
  patch["metadata"]["finalizers"] = Json::array({kFinalizer});
  const auto written =
      parts_.writer->Patch(PatchType::kApply, PathOf(object), patch, ApplyParameters());
  if (written.ok()) parts_.cluster->node_pools().Put(*written);
  if (IsForbidden(written.status())) {
    const std::string why = ForbiddenMessage(kByFinalizer, written.status().message());
    NoteRefusal(object, Refusal{object.generation, why, Refusal::Kind::kForbidden}, memory);
  }
  return written.status();
}

absl::Status PoolReconciler::PatchAnnotation(const NodePoolObject& object, const Json& patch,
                                             Memory& memory) {
  const auto written = parts_.writer->Patch(PatchType::kJson, PathOf(object), patch,
                                            {{"fieldManager", kFieldManager}});
  if (written.ok()) {
    parts_.cluster->node_pools().Put(*written);
    NoteOrders(ReadNodePool(*written), memory);
  }
  // Somebody was quicker: the object says what is asked for now.
  if (absl::IsInvalidArgument(written.status()))
    return absl::AbortedError(written.status().message());
  return written.status();
}

void PoolReconciler::CountNodes(const std::string& pool_uid, StatusFacts& facts) const {
  for (const auto& node : parts_.muster_view->NodesOf(pool_uid)) {
    const auto object = parts_.cluster->NodeOf(node->machine());
    const MetadataState state = MetadataStateOf(*node, object.get());
    if (state != MetadataState::kNone) ++facts.synced.nodes;
    if (state == MetadataState::kPending) ++facts.synced.pending;
    if (state == MetadataState::kUnknown) ++facts.synced.unknown;
    const bool produces = node->state() == lifecycle::v1::Node::STATE_PRODUCTION;
    ++facts.service.nodes;
    if (state != MetadataState::kSynced || !produces) ++facts.service.absent;
  }
}

StatusFacts PoolReconciler::FactsOf(const NodePoolObject& object, const Pool& pool,
                                    const Memory& memory) const {
  std::optional<std::string> held = parts_.brake->HeldAt(object.name);
  if (!held && !parts_.brake->decided()) held = SaysHeld(object.status);
  return {.object = &object,
          .pool = pool.get(),
          .refusal = memory.refusal,
          .edition = parts_.edition,
          .metadata_refusal = parts_.refusals->Of(object.uid),
          .ready = parts_.ready_condition,
          .held = std::move(held)};
}

Outcome PoolReconciler::ShowStatus(const NodePoolObject& object, const MusterView::PoolView& view,
                                   Memory& memory) {
  StatusFacts facts = FactsOf(object, view.pool, memory);
  if (parts_.edition != Edition::kCurrent || parts_.ready_condition) {
    // Of a large pool this takes longer than the write that may come of it.
    const absl::Duration early = UntilNextStatus(memory);
    if (early > absl::ZeroDuration()) return Later(early);
    CountNodes(object.uid, facts);
  }
  const Outcome outcome = UpdateStatus(facts, memory);
  if (!outcome.status.ok() || outcome.again < absl::InfiniteDuration()) return outcome;
  if (view.unseen_since < absl::InfiniteFuture())
    parts_.metrics->Mirrored(absl::Now() - view.unseen_since);
  if (view.pool != nullptr) parts_.muster_view->SetShown(object.name, view);
  // Nothing tells that what an earlier process held is held no more.
  return facts.held && !parts_.brake->decided() ? Later(kWatchIsLate) : Outcome();
}

Outcome PoolReconciler::ShowGone(const NodePoolObject& object, Memory& memory) {
  StatusFacts facts = FactsOf(object, nullptr, memory);
  facts.gone = true;
  return UpdateStatus(facts, memory);
}

absl::Duration PoolReconciler::UntilNextStatus(const Memory& memory) const {
  return kStatusInterval - (parts_.steady->Now() - memory.status_time);
}

Outcome PoolReconciler::UpdateStatus(const StatusFacts& facts, Memory& memory) {
  const std::optional<Json> status = DesiredStatus(facts, absl::Now());
  if (!status || StatusMatches(facts.object->status, *status)) return {};
  const absl::Duration early = UntilNextStatus(memory);
  if (early > absl::ZeroDuration()) return Later(early);
  RETURN_IF_ERROR(PutStatus(*facts.object, *status));
  memory.status_time = parts_.steady->Now();
  return {};
}

absl::Status PoolReconciler::NoteGrantable(const NodePoolObject& object, const NodePool& pool,
                                           Memory& memory) {
  const std::optional<std::string> should = GrantableText(pool);
  if (memory.noted && memory.grantable == should) return absl::OkStatus();
  if (object.grantable != should) {
    const Json value = should ? Json(*should) : Json();
    const Json patch = {
        {"metadata", {{"uid", object.uid}, {"annotations", {{kGrantable, value}}}}}};
    ASSIGN_OR_RETURN(const Json written,
                     parts_.writer->Patch(PatchType::kMerge, PathOf(object), patch,
                                          {{"fieldManager", kFieldManager}}));
    parts_.cluster->node_pools().Put(written);
  }
  memory.noted = true;
  memory.grantable = should;
  return absl::OkStatus();
}

absl::Status PoolReconciler::PutStatus(const NodePoolObject& object, const Json& status) {
  Json patch = Frame(object);
  patch["status"] = status;
  ASSIGN_OR_RETURN(const Json written,
                   parts_.writer->Patch(PatchType::kApply, absl::StrCat(PathOf(object), "/status"),
                                        patch, ApplyParameters()));
  parts_.cluster->node_pools().Put(written);
  return absl::OkStatus();
}

}  // namespace muster::kubernetes
