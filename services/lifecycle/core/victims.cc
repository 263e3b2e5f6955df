#include "services/lifecycle/core/victims.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

// Smaller goes first.
using Rank = std::tuple<int, int64_t, int64_t>;

Rank RankOf(const Node& node) {
  const Observed& seen = node.observed;
  if (IsNamed(node)) return {0, IsAskedToGo(node) ? 0 : 1, seen.active ? 1 : 0};
  if (IsInProgress(node.state) || node.state == NodeState::kRegistered) {
    return {1, static_cast<int64_t>(node.state), -absl::ToUnixMicros(node.create_time)};
  }
  if (node.state == NodeState::kTriage) return {2, seen.active ? 1 : 0, 0};
  const bool unschedulable = seen.unschedulable || node.orders.cordon_time != kNever;
  if (unschedulable && !seen.active) return {3, 0, 0};
  if (!seen.active) {
    const absl::Time since = seen.active_time == kNever ? node.create_time : seen.active_time;
    return {4, absl::ToUnixMicros(since), 0};
  }
  return {5, ActivePods(seen), -absl::ToUnixMicros(node.create_time)};
}

bool MayGo(const Node& node) {
  switch (node.state) {
    case NodeState::kAssigned:
    case NodeState::kBooting:
    case NodeState::kRegistered:
    case NodeState::kProduction:
    case NodeState::kTriage:
      return true;
    case NodeState::kReconfiguring:
    case NodeState::kCordoned:
    case NodeState::kDraining:
    case NodeState::kPreparedForTerminate:
    case NodeState::kDeleted:
    case NodeState::kDeliveryFailed:
      return false;
  }
  return false;
}

}  // namespace

bool ActiveToo(const Pool& pool) {
  return pool.deleting() || pool.spec.scale_down_strategy == ScaleDownStrategy::kPreferIdle;
}

bool IsProtected(const Node& node, absl::Time now) {
  return node.protect_until_time != kNever && now < node.protect_until_time;
}

std::vector<const Node*> VictimsInOrder(const std::vector<const Node*>& candidates) {
  // Ranks are computed once: a sort compares each Node many times.
  std::vector<std::pair<Rank, const Node*>> ranked;
  for (const Node* node : candidates) {
    if (MayGo(*node)) ranked.emplace_back(RankOf(*node), node);
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->name < b.second->name;
  });
  std::vector<const Node*> victims;
  victims.reserve(ranked.size());
  for (const auto& [rank, node] : ranked) victims.push_back(node);
  return victims;
}

}  // namespace muster::lifecycle
