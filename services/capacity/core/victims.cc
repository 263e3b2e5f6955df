#include "services/capacity/core/victims.h"

#include <set>
#include <utility>

namespace muster::capacity {

bool Victims::Candidate::operator<(const Candidate& other) const {
  const int64_t share = (holding.reclaiming + 1) * other.holding.held;
  const int64_t others = (other.holding.reclaiming + 1) * holding.held;
  return std::tie(others, other.holding.reclaiming, newest.time, other.pool_uid) <
         std::tie(share, holding.reclaiming, other.newest.time, pool_uid);
}

std::optional<Victims::Candidate> Victims::Look(const Affinity& affinity,
                                                const std::string& pool_uid) const {
  std::optional<Candidate> candidate;
  for (const auto& [labels, machines] : depot_.classes()) {
    const auto held = machines.reclaimable.find(pool_uid);
    if (held == machines.reclaimable.end() || !Matches(affinity, labels)) continue;
    if (!candidate)
      candidate = {depot_.spot().holdings().at(pool_uid), *held->second.begin(), pool_uid};
    candidate->newest = std::min(candidate->newest, *held->second.begin());
  }
  return candidate;
}

Victims::Candidates Victims::Find(const Affinity& affinity) const {
  std::set<std::string> uids;
  for (const auto& [labels, machines] : depot_.classes()) {
    if (!Matches(affinity, labels)) continue;
    for (const auto& [uid, held] : machines.reclaimable) uids.insert(uid);
  }
  Candidates candidates;
  for (const std::string& uid : uids) candidates.push(*Look(affinity, uid));
  return candidates;
}

std::optional<std::string> Victims::Next(const Affinity& affinity) {
  auto it = known_.find(affinity);
  if (it == known_.end()) it = known_.emplace(affinity, Find(affinity)).first;
  Candidates& candidates = it->second;
  while (!candidates.empty()) {
    const Candidate top = candidates.top();
    const std::optional<Candidate> now = Look(affinity, top.pool_uid);
    if (now == top) return top.newest.id;
    // A claim only moves back: it has more being reclaimed than when it was looked at.
    candidates.pop();
    if (now) candidates.push(*now);
  }
  return std::nullopt;
}

}  // namespace muster::capacity
