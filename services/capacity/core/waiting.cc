#include "services/capacity/core/waiting.h"

#include <algorithm>
#include <tuple>

namespace muster::capacity {

WaitingAffinities::WaitingAffinities(const Queue& queue, bool spot) {
  for (const auto& [selector, line] : queue.lines()) {
    if (selector.affinity.empty()) continue;
    // Default claims stand before spot.
    if (!spot && std::get<ComputeClass>(*line.begin()) == ComputeClass::kSpot) continue;
    if (affinities_.empty() || affinities_.back() != selector.affinity)
      affinities_.push_back(selector.affinity);
  }
}

int64_t WaitingAffinities::CountMatching(const Labels& labels) const {
  const auto known = counts_.find(labels);
  if (known != counts_.end()) return known->second;
  const int64_t count =
      std::count_if(affinities_.begin(), affinities_.end(),
                    [&](const Affinity& affinity) { return Matches(affinity, labels); });
  counts_.emplace(labels, count);
  return count;
}

}  // namespace muster::capacity
