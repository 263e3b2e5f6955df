#include "services/lifecycle/core/validate_command.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "services/common/resource_name.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/spec_fields.h"

namespace muster::lifecycle {
namespace {

constexpr char kTarget[] = "target_nodes";  // what a resize calls `spec.targetNodes`

const TypeFacts* Known(const std::optional<TypeFacts>& type) { return type ? &*type : nullptr; }

void CheckMachines(const std::vector<std::string>& machines, absl::string_view field,
                   Faults& faults) {
  if (machines.size() > kMaxNamedMachines) {
    return faults.Add(field, absl::StrCat("must have at most ", kMaxNamedMachines, " entries"));
  }
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < machines.size(); ++i) {
    faults.Require(seen.insert(machines[i]).second, muster::error::At(field, i),
                   "stands in the request twice");
  }
}

}  // namespace

void Validate(const UpdateCluster& command, Faults& faults) {
  ValidateCluster(command.cluster, faults);
}

void Validate(const BindCluster& command, Faults& faults) {
  constexpr char kUid[] = "must be 1 to 64 of lower-case letters, digits and `-`.";
  faults.Require(IsPoolUid(command.kubernetes_uid), "kubernetes_uid", kUid);
  faults.Require(command.replaces.empty() || IsPoolUid(command.replaces), "replaces", kUid);
}

void Validate(const AllowRemovals& command, Faults& faults) {
  ValidateCount("node_pools", command.node_pools, faults);
  ValidateCount("nodes", command.nodes, faults);
  faults.Require(command.ttl >= absl::Seconds(1) && command.ttl <= kMaxAllowanceTtl, "ttl",
                 "must be 1s to 24h");
}

void Validate(const ApplyNodePool& command, Faults& faults) {
  ValidateSpec(command.spec, command.target_nodes, faults);
  faults.Require(command.object_generation >= 0, "node_pool.object_generation",
                 "must be at least 0");
}

void Validate(const ResizeNodePool& command, Faults& faults) {
  CheckMachines(command.remove_machines, "remove_machines", faults);
  if (command.target_nodes || command.remove_machines.empty())
    ValidateTarget(command.target_nodes, faults);
  faults.Rename("spec.targetNodes", kTarget);
}

void Validate(const ReconfigureNodePool& command, Faults& faults) {
  faults.Require(command.max_unavailable.empty() || IsMaxUnavailable(command.max_unavailable),
                 "max_unavailable", "must be a number such as `2` or a percentage such as `25%`");
  ValidateCount("allowed_failures", command.allowed_failures, faults);
  CheckMachines(command.machines, "machines", faults);
}

void ValidateIn(const State& state, const ApplyNodePool& command, Faults& faults) {
  const Pool* pool = state.table<Pool>().Find(command.name);
  const Spec* before = pool == nullptr ? nullptr : &pool->spec;
  ValidateForeignKeys(command.spec, before, faults);
  ValidateFit(command.spec, command.target_nodes, before, Known(command.type), faults);
}

void ValidateIn(const State& state, const ResizeNodePool& command, Faults& faults) {
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) return;
  bool all_known = true;
  for (size_t i = 0; i < command.remove_machines.size(); ++i) {
    const std::string& machine = command.remove_machines[i];
    if (state.table<Node>().Find(NodeName(command.name, machine)) != nullptr) continue;
    faults.Add(muster::error::At("remove_machines", i),
               absl::StrCat("`", machine, "` is not a Node of the pool"));
    all_known = false;
  }
  const auto target = all_known ? TargetOf(state, *before, command) : command.target_nodes;
  if (!target) return;
  ValidateAutoscaledTarget(before->spec, *target, faults);
  ValidateFit(before->spec, target, nullptr, Known(command.type), faults);
  faults.Rename("spec.targetNodes", kTarget);
}

ApplyNodePool WholeOf(const Pool& pool, const UpdateNodePool& command) {
  ApplyNodePool whole{.name = command.name, .etag = command.etag};
  whole.type = command.type;
  whole.spec = pool.spec;
  CopyFields(command.paths, command.values, whole.spec);
  whole.target_nodes = NamesField(command.paths, "spec.target_nodes") ? command.target_nodes
                                                                      : pool.spec.target_nodes;
  return whole;
}

// The target is lowered by the named Nodes that the pool would otherwise replace. A Node that
// leaves for another cause, such as repair, counts only as far as the pool is short without it. One
// that leaves by a scale-down does not count. One that was named before counts only as far as the
// pool has no surplus for it any more, because others went in its place. Nor does one count for
// which the target was lowered before.
std::optional<int64_t> TargetOf(const State& state, const Pool& pool,
                                const ResizeNodePool& command) {
  if (command.target_nodes || command.remove_machines.empty()) return command.target_nodes;
  int64_t leaving = 0;
  int64_t going = 0;  // for another cause
  int64_t named_before = 0;
  for (const std::string& machine : command.remove_machines) {
    const Node& node = *state.table<Node>().Find(NodeName(command.name, machine));
    const bool goes = node.removal_cause == RemovalCause::kScaleDown ||
                      node.removal_cause == RemovalCause::kDeletion || IsReturnable(node.state) ||
                      (Stays(node.state) && IsAskedToGo(node));
    if (!goes && !node.removal_requested) ++(Stays(node.state) ? leaving : going);
    if (!goes && node.removal_requested && Stays(node.state)) ++named_before;
  }
  const std::vector<const Node*> nodes = state.NodesOf(command.name);
  const auto surplus =
      std::count_if(nodes.begin(), nodes.end(),
                    [](const Node* node) { return Stays(node->state) && !IsAskedToGo(*node); }) -
      pool.spec.target_nodes;
  leaving += std::min<int64_t>(going, std::max<int64_t>(0, -surplus));
  // While the pool is short, Nodes named before do not count.
  if (surplus >= 0) leaving += std::max<int64_t>(0, named_before - surplus);
  return std::max<int64_t>(0, pool.spec.target_nodes - leaving);
}

}  // namespace muster::lifecycle
