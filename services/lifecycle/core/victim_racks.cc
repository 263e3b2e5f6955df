#include "services/lifecycle/core/victim_racks.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

// Whatever the pool's strategy is.
bool IsAwaited(const Node& node, absl::Time now) {
  return node.state == NodeState::kReconfiguring || IsProtected(node, now);
}

// Puts `nodes` in the order of their places.
template <class Place, class N>
void SortByPlace(std::vector<std::pair<Place, N*>> placed, std::vector<N*>& nodes) {
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(placed.begin(), placed.end(), nodes.begin(),
                 [](const auto& node) { return node.second; });
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
  SortByPlace(std::move(placed), victims);
}

void VictimRacks::SortBack(std::vector<Node*>& cordoned) const {
  if (nodes_per_rack_ == 0) return;
  struct Part {
    int64_t nodes = 0;
    size_t first = 0;
  };
  absl::flat_hash_map<std::string, Part> parts;  // by rack
  for (size_t i = 0; i < cordoned.size(); ++i)
    ++parts.try_emplace(cordoned[i]->rack.get(), Part{.first = i}).first->second.nodes;
  std::vector<std::pair<std::tuple<int64_t, int64_t, size_t>, Node*>> placed;
  for (Node* node : cordoned) {
    const Part& part = parts.at(node->rack.get());
    const auto rack = racks_.find(node->rack.get());
    const int64_t whole = part.nodes + (rack == racks_.end() ? 0 : rack->second.staying);
    placed.emplace_back(std::tuple(-whole, part.nodes, part.first), node);
  }
  SortByPlace(std::move(placed), cordoned);
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
