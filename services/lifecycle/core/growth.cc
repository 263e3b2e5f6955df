#include "services/lifecycle/core/growth.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/validate_command.h"

namespace muster::lifecycle {
namespace {

std::optional<Growth> GrowthIn(const State& state, Pool after) {
  int64_t nodes = 0;
  state.ForEachNodeOf(after.name, [&](const Versioned<Node>&) { ++nodes; });
  const Pool* before = state.table<Pool>().Find(after.name);
  return GrowthBetween(before, std::move(after), nodes);
}

// Whether the lane will refuse the command, which then says why.
template <class Command>
bool IsRefusedIn(const State& state, const Command& command) {
  Faults faults;
  ValidateIn(state, command, faults);
  return !faults.empty();
}

}  // namespace

// Nodes that leave are charged until they are gone.
std::optional<Growth> GrowthBetween(const Pool* before, Pool after, int64_t nodes) {
  const bool rises = before == nullptr || after.spec.target_nodes > before->spec.target_nodes;
  if (after.deleting() || !rises) return std::nullopt;
  const int64_t charge = std::max(after.spec.target_nodes, nodes);
  if (charge <= after.account.granted_nodes) return std::nullopt;
  return Growth{std::move(after), charge};
}

std::optional<Growth> GrowthBy(const State& state, const ApplyNodePool& command) {
  if (!command.target_nodes || IsRefusedIn(state, command)) return std::nullopt;
  Pool after;
  if (const Pool* before = state.table<Pool>().Find(command.name)) {
    after = *before;
  } else {
    const Cluster* cluster = state.table<Cluster>().Find(std::string(ClusterNameOf(command.name)));
    if (cluster == nullptr) return std::nullopt;
    after.name = command.name;
    after.uid = command.uid.empty() ? command.new_uid : command.uid;
    after.zone = cluster->zone;
  }
  after.spec = command.spec;
  after.spec.target_nodes = *command.target_nodes;
  return GrowthIn(state, std::move(after));
}

std::optional<Growth> GrowthBy(const State& state, const UpdateNodePool& command) {
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) return std::nullopt;
  const ApplyNodePool whole = WholeOf(*before, command);
  Faults faults;
  Validate(whole, faults);
  return faults.empty() ? GrowthBy(state, whole) : std::nullopt;
}

std::optional<Growth> GrowthBy(const State& state, const ResizeNodePool& command) {
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr || !command.target_nodes || IsRefusedIn(state, command))
    return std::nullopt;
  Pool after = *before;
  after.spec.target_nodes = *command.target_nodes;
  return GrowthIn(state, std::move(after));
}

}  // namespace muster::lifecycle
