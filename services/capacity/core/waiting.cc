#include "services/capacity/core/waiting.h"

#include <algorithm>
#include <tuple>

namespace muster::capacity {

// Default claims stand before spot.
bool WaitingAffinities::Counts(const Queue::Line& line) const {
  return spot_ || std::get<ComputeClass>(*line.begin()) == ComputeClass::kDefault;
}

const absl::btree_set<Affinity>& WaitingAffinities::affinities() const {
  if (affinities_) return *affinities_;
  affinities_.emplace();
  for (const auto& [selector, line] : queue_.lines()) {
    if (!selector.affinity.empty() && Counts(line))
      affinities_->insert(affinities_->end(), selector.affinity);
  }
  return *affinities_;
}

int64_t WaitingAffinities::CountMatching(const Labels& labels) const {
  const auto known = counts_.find(labels);
  if (known != counts_.end()) return known->second;
  const int64_t count =
      std::count_if(affinities().begin(), affinities().end(),
                    [&](const Affinity& affinity) { return Matches(affinity, labels); });
  counts_.emplace(labels, count);
  return count;
}

bool WaitingAffinities::IsWaitedFor(const Affinity& affinity) const {
  for (const bool gang : {false, true}) {
    const auto line = queue_.lines().find({affinity, gang});
    if (line != queue_.lines().end() && Counts(line->second)) return true;
  }
  return false;
}

bool WaitingAffinities::Recheck(const Affinity& affinity) {
  if (!affinities_ || !affinities_->contains(affinity) || IsWaitedFor(affinity)) return false;
  affinities_->erase(affinity);
  for (auto& [labels, count] : counts_) {
    if (Matches(affinity, labels)) --count;
  }
  return true;
}

}  // namespace muster::capacity
