#include "services/lifecycle/core/victim_racks.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/removals.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

// Whatever the pool's strategy is.
bool IsAwaited(const Node& node, absl::Time now) {
  return node.state == NodeState::kReconfiguring || IsProtected(node, now);
}

}  // namespace

VictimRacks::VictimRacks(const Snapshot& snapshot, const std::vector<const Node*>& nodes)
    : nodes_per_rack_(snapshot.catalogue.type ? snapshot.catalogue.type->nodes_per_rack : 0),
      awaits_work_(!ActiveToo(*snapshot.pool)),
      now_(snapshot.now) {
  if (nodes_per_rack_ == 0) return;
  for (const Node* node : nodes) {
    if (!Stays(node->state) || IsNamed(*node)) continue;
    Rack& rack = racks_[node->rack.get()];
    ++rack.staying;
    if (node->observed.active || IsAwaited(*node, now_)) ++rack.late;
  }
}

void VictimRacks::Sort(std::vector<const Node*>& victims) const {
  if (nodes_per_rack_ == 0) return;
  using Place = std::tuple<bool, int64_t, int64_t, size_t, int>;
  std::vector<std::pair<Place, const Node*>> placed;
  absl::flat_hash_map<std::string, size_t> firsts;  // by rack
  for (const Node* node : victims) {
    Place place;
    if (!IsNamed(*node)) {
      const Rack& rack = racks_.at(node->rack.get());
      const size_t first = firsts.try_emplace(node->rack.get(), placed.size()).first->second;
      place = {true, std::min(rack.staying, nodes_per_rack_), rack.late, first, TurnOf(*node)};
    }
    placed.emplace_back(place, node);
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(placed.begin(), placed.end(), victims.begin(),
                 [](const auto& node) { return node.second; });
}

int VictimRacks::TurnOf(const Node& node) const {
  if (IsAwaited(node, now_)) return 2;
  return node.observed.active && awaits_work_ ? 1 : 0;
}

void VictimRacks::Begin(const Node& node) {
  if (nodes_per_rack_ > 0 && !IsNamed(node)) --racks_.at(node.rack.get()).staying;
}

bool VictimRacks::IsBegun(const Node& node) const {
  return nodes_per_rack_ > 0 && !IsNamed(node) &&
         racks_.at(node.rack.get()).staying < nodes_per_rack_;
}

}  // namespace muster::lifecycle
