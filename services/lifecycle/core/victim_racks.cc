#include "services/lifecycle/core/victim_racks.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

// Whether the Node has to be awaited whatever the pool's strategy is.
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
    : nodes_per_rack_(snapshot.catalogue.nodes_per_rack()),
      awaits_work_(!ActiveToo(*snapshot.pool)),
      now_(snapshot.now) {
  if (nodes_per_rack_ == 0) return;
  for (const Node* node : nodes) {
    const bool cordoned =
        node->state == NodeState::kCordoned && node->removal_cause == RemovalCause::kScaleDown;
    if (!Stays(node->state) && !cordoned) continue;
    Rack& rack = racks_[node->rack.get()];
    int64_t& count = cordoned ? rack.cordoned : IsNamed(*node) ? rack.named : rack.staying;
    ++count;
    const bool stays = &count == &rack.staying;
    if (stays && (node->observed.active || IsAwaited(*node, now_))) ++rack.late;
  }
  FindLeaving(snapshot);
}

// As many racks stay as the target makes up, those of which the pool has the most; of the others
// those leave that were begun.
void VictimRacks::FindLeaving(const Snapshot& snapshot) {
  const int64_t target = snapshot.pool->target_nodes();
  // Without the catalogue only named Nodes are looked at here (SelectRemovals).
  if (!snapshot.catalogue.known || target % nodes_per_rack_ != 0) return;
  // By the snapshot's rows, so that a Node whose machine this pass purges still tells of its rack.
  // A named Node goes without its rack. The account remembers racks of which the Nodes that went
  // first are gone already.
  const std::vector<std::string>& given_up = snapshot.pool->account.leaving_racks;
  for (const Node* node : snapshot.nodes) {
    const bool goes = node->removal_cause == RemovalCause::kScaleDown && !Stays(node->state);
    if ((goes && !IsNamed(*node)) ||
        std::binary_search(given_up.begin(), given_up.end(), node->rack.get()))
      racks_[node->rack.get()].begun = true;
  }
  // Ordered by the most staying, then not begun, then the most cordoned or named: letting a named
  // Node stay must not change its rack's place, or it would have to go again at once.
  using Place = std::tuple<int64_t, bool, int64_t, absl::string_view>;
  std::vector<std::pair<Place, Rack*>> racks;
  for (auto& [name, rack] : racks_)
    racks.push_back({{-rack.staying, rack.begun, -rack.cordoned - rack.named, name}, &rack});
  std::sort(racks.begin(), racks.end());
  const auto wanted = std::min(std::ssize(racks), target / nodes_per_rack_);
  for (auto it = racks.begin() + wanted; it != racks.end(); ++it)
    it->second->leaves = it->second->begun;
}

void VictimRacks::Sort(std::vector<const Node*>& victims) const {
  if (nodes_per_rack_ == 0) return;
  using Place = std::tuple<bool, bool, int64_t, int64_t, size_t, int>;
  std::vector<std::pair<Place, const Node*>> placed;
  absl::flat_hash_map<std::string, size_t> firsts;  // by rack
  for (const Node* node : victims) {
    Place place;
    if (!IsNamed(*node)) {
      const Rack& rack = racks_.at(node->rack.get());
      const size_t first = firsts.try_emplace(node->rack.get(), placed.size()).first->second;
      place = {true,      !rack.leaves, std::min(rack.staying, nodes_per_rack_),
               rack.late, first,        TurnOf(*node)};
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

bool VictimRacks::Leaves(const Node& node) const {
  const auto rack = racks_.find(node.rack.get());
  return rack != racks_.end() && rack->second.leaves;
}

bool VictimRacks::AnyLeaves() const {
  return std::any_of(racks_.begin(), racks_.end(), [](const auto& named) {
    const Rack& rack = named.second;
    return rack.leaves && rack.staying + rack.named > 0;
  });
}

std::vector<std::string> VictimRacks::Leaving() const {
  std::vector<std::string> leaving;
  for (const auto& [name, rack] : racks_) {
    if (rack.leaves) leaving.push_back(name);
  }
  std::sort(leaving.begin(), leaving.end());
  return leaving;
}

bool VictimRacks::IsBegun(const Node& node) const {
  return nodes_per_rack_ > 0 && !IsNamed(node) &&
         racks_.at(node.rack.get()).staying < nodes_per_rack_;
}

}  // namespace muster::lifecycle
