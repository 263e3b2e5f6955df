#include "services/lifecycle/core/metadata.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "services/common/fnv.h"
#include "services/common/kubernetes_names.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/reserved_taint.h"

namespace muster::lifecycle {
namespace {

constexpr char kProductionLabel[] = "production";
constexpr char kEvictedAt[] = "qos.coreweave.cloud/evicted-at";

Taint GpuTaint() { return {"is_gpu", "true", "PreferNoSchedule"}; }
Taint CpuTaint() { return {"is_cpu_compute", "", "NoSchedule"}; }

// Nodes that are cordoned, draining or unhealthy still serve the work that is on them: the
// NoExecute taint of a Node out of production would evict it past every disruption budget. An
// unhealthy Node without work keeps the taint all the way out.
bool IsIllAndIdle(const Node& node) { return node.observed.unhealthy && !node.observed.active; }
absl::string_view StateLabel(const Node& node) {
  switch (node.state) {
    case NodeState::kProduction:
      return kProductionLabel;
    case NodeState::kCordoned:
    case NodeState::kDraining:
      return IsIllAndIdle(node) ? "triage" : kProductionLabel;
    case NodeState::kReconfiguring:
      return "production-reboot";
    case NodeState::kTriage:
      return node.observed.active ? kProductionLabel : "triage";
    case NodeState::kAssigned:
    case NodeState::kBooting:
    case NodeState::kRegistered:
    case NodeState::kPreparedForTerminate:
    case NodeState::kDeleted:
    case NodeState::kDeliveryFailed:
      return "zap";
  }
  return "";
}

// On its way into production: the Node is meant for the organization but not settled yet.
bool IsArriving(NodeState state) {
  return state == NodeState::kAssigned || state == NodeState::kBooting ||
         state == NodeState::kRegistered;
}

bool IsPastDrain(NodeState state) {
  return state == NodeState::kPreparedForTerminate || state == NodeState::kDeleted;
}

std::string FormatUtc(absl::string_view format, absl::Time time) {
  return absl::FormatTime(format, time, absl::UTCTimeZone());
}

void AddPreemption(absl::Time evict_time, Metadata& metadata) {
  metadata.labels["qos.coreweave.cloud/pending-preemption"] = "true";
  if (evict_time == kNever) return;
  // A label's value must not hold the colons of RFC 3339; the annotation has it whole.
  metadata.labels[kEvictedAt] = FormatUtc("%Y-%m-%dT%H-%M-%SZ", evict_time);
  metadata.annotations[kEvictedAt] = FormatUtc("%Y-%m-%dT%H:%M:%SZ", evict_time);
}

// The pool's taints and ours. A Node has only one taint of a key and effect, for which ours is
// taken.
std::vector<Taint> WithOwn(const std::vector<Taint>& pools, std::vector<Taint> own) {
  std::vector<Taint> taints;
  absl::c_copy_if(pools, std::back_inserter(taints), [&](const Taint& taint) {
    return absl::c_none_of(
        own, [&](const Taint& one) { return one.key == taint.key && one.effect == taint.effect; });
  });
  absl::c_move(own, std::back_inserter(taints));
  return taints;
}

}  // namespace

std::string ReservedHash(absl::string_view reserved) {
  return absl::StrFormat("%016x", Fnv1a(reserved));
}

MetadataInputs MetadataInputsOf(const Node& node) {
  return {.state_label = StateLabel(node),
          .arriving = IsArriving(node.state),
          .past_drain = IsPastDrain(node.state),
          .reserved_desired = node.reserved_desired,
          .preempted = node.preempt_time != kNever,
          .evict_time = IsDrainedForPreemption(node) ? node.desired.drain_time : kNever};
}

Metadata DesiredMetadata(const Pool& pool, const Node& node, bool gpu) {
  const MetadataInputs inputs = MetadataInputsOf(node);
  const std::string organization(OrganizationOf(pool.name));
  const std::string label(inputs.state_label);
  const bool production = label == kProductionLabel;
  const bool settled = production || inputs.arriving;
  const std::string desired = !inputs.reserved_desired.empty() ? inputs.reserved_desired.get()
                              : settled                        ? organization
                                                               : label;
  // Pending: it does not belong to its organization yet, or, past its drain, is on its way to the
  // control plane. Until then nothing but its state counts, so that the label does not go to and
  // fro.
  const bool leaves = !inputs.reserved_desired.empty() && inputs.past_drain;
  const bool pending = inputs.arriving || leaves;
  const std::string reserved = production ? organization : (pending ? kControlPlane : label);

  Metadata metadata{pool.spec.node_labels, pool.spec.node_annotations, {}};
  StringMap& labels = metadata.labels;
  labels[kPoolLabel] = std::string(LastIdOf(pool.name));
  labels[kPoolUidLabel] = pool.uid;
  labels["compute.coreweave.com/compute-class"] =
      pool.spec.compute_class.empty() ? "default" : pool.spec.compute_class;
  labels["node.kubernetes.io/instance-type"] = pool.spec.instance_type;
  labels["node.kubernetes.io/type"] = pool.spec.instance_type;
  labels["topology.kubernetes.io/zone"] = pool.zone;
  labels["topology.kubernetes.io/region"] = RegionOf(pool.zone);
  labels["node.coreweave.cloud/state"] = label;
  labels["node.coreweave.cloud/reserved"] = reserved;
  labels["node.coreweave.cloud/reserved-desired"] = desired;

  if (inputs.preempted) AddPreemption(inputs.evict_time, metadata);

  std::vector<Taint> own = {gpu ? GpuTaint() : CpuTaint()};
  if (!production) own.push_back(Taint{kReservedTaint, ReservedHash(reserved), "NoExecute"});
  metadata.taints = WithOwn(pool.spec.node_taints, std::move(own));
  return metadata;
}

bool UpdateMetadata(Node& node, const Pool& pool, bool gpu) {
  Metadata metadata = DesiredMetadata(pool, node, gpu);
  Desired& desired = node.desired;
  if (desired.labels == metadata.labels && desired.annotations == metadata.annotations &&
      desired.taints == metadata.taints) {
    return false;
  }
  desired.labels = std::move(metadata.labels);
  desired.annotations = std::move(metadata.annotations);
  desired.taints = std::move(metadata.taints);
  return true;
}

bool HasGpus(const Node& node) {
  // The pool's own taints come first and may be equal to these: the last one counts.
  bool gpus = false;
  for (const Taint& taint : node.desired.taints) {
    if (taint == GpuTaint()) gpus = true;
    if (taint == CpuTaint()) gpus = false;
  }
  return gpus;
}

}  // namespace muster::lifecycle
