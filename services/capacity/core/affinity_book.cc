#include "services/capacity/core/affinity_book.h"

namespace muster::capacity {

void AffinityBook::Add(const ClaimRow& claim, LabelClasses& classes) {
  if (claim.affinity.empty()) return;
  const auto [it, created] = entries_.try_emplace(claim.affinity);
  Entry& entry = it->second;
  if (created) {
    entry.number = entries_.size() - 1;
    if (!unused_.empty()) {
      entry.number = unused_.back();
      unused_.pop_back();
    }
    for (auto& [labels, machines] : classes) {
      if (!Matches(claim.affinity, labels)) continue;
      machines.takers.set.Insert(entry.number);
      ++machines.takers.all;
    }
  }
  const bool by_default = entry.by_default();
  ++entry.waiting[static_cast<size_t>(claim.compute_class)];
  if (entry.by_default() != by_default) CountDefault(entry, classes, 1);
}

void AffinityBook::Remove(const ClaimRow& claim, LabelClasses& classes) {
  if (claim.affinity.empty()) return;
  const auto it = entries_.find(claim.affinity);
  Entry& entry = it->second;
  const bool by_default = entry.by_default();
  --entry.waiting[static_cast<size_t>(claim.compute_class)];
  if (entry.by_default() != by_default) CountDefault(entry, classes, -1);
  if (entry.waiting != decltype(entry.waiting){}) return;
  for (auto& [labels, machines] : classes) {
    if (!machines.takers.set.Has(entry.number)) continue;
    machines.takers.set.Erase(entry.number);
    --machines.takers.all;
  }
  unused_.push_back(entry.number);
  entries_.erase(it);
}

void AffinityBook::CountDefault(const Entry& entry, LabelClasses& classes, int64_t by) {
  by_default_ += by;
  for (auto& [labels, machines] : classes) {
    if (machines.takers.set.Has(entry.number)) machines.takers.by_default += by;
  }
}

Takers AffinityBook::TakersOf(const Labels& labels) const {
  Takers takers;
  for (const auto& [affinity, entry] : entries_) {
    if (!Matches(affinity, labels)) continue;
    takers.set.Insert(entry.number);
    ++takers.all;
    if (entry.by_default()) ++takers.by_default;
  }
  return takers;
}

const AffinityBook::Entry* AffinityBook::Find(const Affinity& affinity) const {
  const auto it = entries_.find(affinity);
  return it == entries_.end() ? nullptr : &it->second;
}

}  // namespace muster::capacity
