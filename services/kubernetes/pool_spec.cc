// Of PoolReconciler: sends an object's spec to Muster, and remembers what Muster refuses of it.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"
#include "services/common/event_reasons.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/refusal.h"
#include "services/kubernetes/core/text.h"
#include "services/kubernetes/pool_reconciler.h"

namespace muster::kubernetes {

using lifecycle::v1::NodePool;
using lifecycle::v1::NodeReport;

absl::Status PoolReconciler::ReportMarks(const NodePoolObject& object) {
  std::vector<NodeObject> nodes;
  RETURN_IF_ERROR(parts_.api
                      ->List(kNodesPath,
                             {{"labelSelector", absl::StrCat(kPoolUidLabel, "=", object.uid)}},
                             [&](const Json& node) {
                               parts_.cluster->nodes().Put(node);
                               nodes.push_back(ReadNode(node));
                             })
                      .status());
  std::vector<NodeReport> reports;
  for (const auto& node : parts_.muster_view->NodesOf(object.uid)) {
    const auto known = parts_.cluster->NodeOf(node->machine());
    const auto seen = std::find_if(nodes.begin(), nodes.end(), [&](const NodeObject& it) {
      return known != nullptr && it.name == known->name;
    });
    if (seen == nodes.end() || CompareLives(*node, *seen) != 0) continue;
    const bool marked = IsMarkedByAutoscaler(*seen);
    if (marked == node->observed().autoscaler_marked()) continue;
    NodeReport& report = reports.emplace_back();
    report.set_node(node->name());
    report.set_observation(marked ? NodeReport::OBSERVATION_AUTOSCALER_MARKED
                                  : NodeReport::OBSERVATION_AUTOSCALER_UNMARKED);
    *report.mutable_node_create_time() = node->create_time();
  }
  return reports.empty() ? absl::OkStatus() : parts_.reporter->ReportNow(reports).status();
}

absl::StatusOr<NodePool> PoolReconciler::SendSpec(const NodePoolObject& object,
                                                  const lifecycle::v1::NodePoolSpec& spec) {
  NodePool wanted;
  wanted.set_name(parts_.muster->PoolName(object.name));
  wanted.set_uid(object.uid);
  wanted.set_object_generation(object.generation);
  *wanted.mutable_spec() = spec;
  // A cluster that is made again has to be bound before it has pools.
  if (parts_.identity->cluster_missing()) return error::NotFound(parts_.muster->cluster());
  const auto applied = parts_.muster->ApplyNodePool(wanted);
  if (absl::IsNotFound(applied.status())) parts_.identity->MissCluster();
  return applied;
}

std::optional<Refusal> PoolReconciler::RefusalOf(const NodePoolObject& object,
                                                 const absl::Status& status) const {
  using Kind = Refusal::Kind;
  const auto as = [&](Kind kind, std::string message) {
    return Refusal{object.generation, std::move(message), kind};
  };
  if (auto limit = LimitOf(status)) return as(Kind::kLimit, *std::move(limit));
  if (absl::IsInvalidArgument(status)) return as(Kind::kInvalid, FaultsOf(status));
  if (absl::IsNotFound(status))
    return as(Kind::kNoCluster, NoClusterMessage(LastIdOf(parts_.muster->cluster())));
  if (absl::IsPermissionDenied(status))
    return as(Kind::kForbidden, ForbiddenMessage("Muster", status.message()));
  const std::string reason = error::ReasonOf(status);
  if (reason == error::kGenerationTooOld && IsStillSo(object))
    return as(Kind::kRestored, RestoredMessage(object.generation));
  // If the pool of its name has another uid, the watch tells of it.
  if (reason == error::kUidMismatch &&
      absl::IsNotFound(parts_.muster->GetNodePool(parts_.muster->PoolName(object.name)).status()))
    return as(Kind::kInvalid, UidTakenMessage(object.uid));
  return std::nullopt;
}

void PoolReconciler::NoteRefusal(const NodePoolObject& object, std::optional<Refusal> refusal,
                                 Memory& memory) {
  // Not again by another try, or after a restart: then the object says so already.
  const auto is_told = [&] {
    const bool goes_on = memory.refusal && memory.refusal->forbids() &&
                         memory.refusal->kind == refusal->kind &&
                         memory.refusal->generation == refusal->generation;
    return goes_on || refusal == memory.refusal || SaysRefusal(object.status, *refusal);
  };
  if (refusal && !is_told()) {
    const bool is_of_deletion = refusal->kind == Refusal::Kind::kUndeleted;
    parts_.events->Tell(object,
                        WordOf(is_of_deletion ? EventReason::kNodePoolNodesRemoveError
                                              : EventReason::kNodePoolNodesRequestFailed),
                        refusal->message);
  }
  memory.refusal = std::move(refusal);
}

bool PoolReconciler::IsStillSo(const NodePoolObject& object) const {
  const auto found = parts_.api->Get(absl::StrCat(kNodePoolsPath, "/", object.name));
  if (!found.ok()) return false;
  const Json& metadata = MemberOf(*found, "metadata");
  return TextOf(MemberOf(metadata, "uid")) == object.uid &&
         NumberOf(MemberOf(metadata, "generation")) == object.generation;
}

absl::Duration PoolReconciler::RetryOf(const Refusal& refusal) const {
  // What is wrong may be the catalogue, of which nothing tells that it was put right.
  constexpr int kSeldom = 20;
  return refusal.may_pass() ? parts_.refusal_retry : kSeldom * parts_.refusal_retry;
}

absl::Status PoolReconciler::SyncSpec(const NodePoolObject& object, const Pool& pool,
                                      Memory& memory) {
  const bool sent = memory.object_generation == object.generation;
  const bool stands = pool != nullptr && pool->generation() <= memory.muster_generation;
  const absl::Duration now = parts_.steady->Now();
  const bool rests = memory.refusal && !memory.refusal->may_pass() &&
                     now - memory.spec_sent_time < RetryOf(*memory.refusal);
  if (sent && (memory.refusal ? rests : stands)) return absl::OkStatus();
  const auto spec = SpecOf(object.spec);
  if (spec.ok() && pool != nullptr && spec->target_nodes() < pool->spec().target_nodes())
    RETURN_IF_ERROR(ReportMarks(object));
  const auto applied = spec.ok() ? SendSpec(object, *spec) : spec.status();
  std::optional<Refusal> refusal = RefusalOf(object, applied.status());
  if (!applied.ok() && !refusal) return applied.status();
  // It is a failure of ours, too.
  const bool fails = refusal && refusal->forbids();
  NoteRefusal(object, std::move(refusal), memory);
  if (fails) return applied.status();
  memory.object_generation = object.generation;
  memory.spec_sent_time = now;
  if (applied.ok()) memory.muster_generation = applied->generation();
  return absl::OkStatus();
}

}  // namespace muster::kubernetes
