// Decide of ResizeNodePool and UpdateNode: how many Nodes, which go first, and which may not.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/put_pool.h"
#include "services/lifecycle/core/text.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

// Each named machine is a Node of the pool that may go.
absl::Status CheckNamed(const State& state, const ResizeNodePool& command, absl::Time now) {
  Faults faults;
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < command.remove_machines.size(); ++i) {
    const std::string& machine = command.remove_machines[i];
    const std::string field = absl::StrCat("remove_machines[", i, "]");
    const Node* node = state.table<Node>().Find(NodeName(command.name, machine));
    if (node == nullptr) {
      faults.Add(field, absl::StrCat("`", machine, "` is not a Node of the pool"));
    } else if (!seen.insert(machine).second) {
      faults.Add(field, "stands in the request twice");
    } else if (IsProtected(*node, now)) {
      return error::NodeProtected(node->name, TimeText(node->protect_until_time));
    }
  }
  return faults.status();
}

// Names of those that are on their way out already count for nothing.
int64_t TargetOf(const State& state, const Pool& pool, const ResizeNodePool& command) {
  if (command.target_nodes) return *command.target_nodes;
  const int64_t leaving = std::count_if(
      command.remove_machines.begin(), command.remove_machines.end(), [&](const auto& machine) {
        const Node* node = state.table<Node>().Find(NodeName(command.name, machine));
        return node->removal_cause == RemovalCause::kNone && !IsReturnable(node->state) &&
               !node->removal_requested;
      });
  return std::max<int64_t>(0, pool.spec.target_nodes - leaving);
}

}  // namespace

StatusOrOutcome Decide(Overlay<State>& overlay, const ResizeNodePool& command, absl::Time now) {
  const State& state = overlay.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  RETURN_IF_ERROR(CheckEtag<Pool>(state, command.name, command.etag));
  if (before->deleting()) return error::PoolDeleting(command.name);
  RETURN_IF_ERROR(CheckNamed(state, command, now));
  std::optional<int64_t> target = command.target_nodes;
  if (!command.remove_machines.empty()) target = TargetOf(state, *before, command);
  Faults faults;
  ValidateSpec(before->spec, target, &before->spec, command.type ? &*command.type : nullptr,
               faults);
  faults.Rename("spec.targetNodes", "target_nodes");
  RETURN_IF_ERROR(faults.status());
  const bool rises = *target > before->spec.target_nodes;
  if (*target != before->spec.target_nodes) {
    Pool pool = *before;
    pool.spec.target_nodes = *target;
    ++pool.generation;
    PutPool(overlay, *before, std::move(pool));
  }
  if (rises) ForgetVictims(overlay, command.name);
  NameVictims(overlay, command.name, command.remove_machines);
  return PoolOutcome(overlay.state(), command.name);
}

StatusOrOutcome Decide(Overlay<State>& overlay, const UpdateNode& command, absl::Time now) {
  const Node* before = overlay.state().table<Node>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  RETURN_IF_ERROR(CheckEtag<Node>(overlay.state(), command.name, command.etag));
  Node node = *before;
  node.protect_until_time = command.protect_until_time;
  if (IsProtected(node, now)) node.removal_requested = false;
  overlay.Put(std::move(node));
  const Versioned<Node>* row = overlay.state().table<Node>().FindVersioned(command.name);
  return Outcome{.node = *row->row, .revision = row->revision};
}

}  // namespace muster::lifecycle
