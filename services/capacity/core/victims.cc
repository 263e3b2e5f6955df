#include "services/capacity/core/victims.h"

namespace muster::capacity {

Victims::Victims(const Inventory& inventory, const EligibleMachines& eligible)
    : inventory_(&inventory) {
  for (const auto& machines : inventory.classes()) {
    if (machines.second.counts.reclaimable > 0 && eligible.Has(inventory, machines))
      classes_.push_back(&machines.second);
  }
}

void Victims::AddHead(const LabelClass& machines, const std::string& uid, Heads& heads) {
  ++looks_;
  const auto held = machines.reclaimable.find(uid);
  if (held == machines.reclaimable.end()) return;
  heads.emplace(*held->second.begin(), &machines);
}

void Victims::RankAnew() {
  Heads& heads = heads_.at(last_);
  const LabelClass& machines = *heads.begin()->second;
  heads.erase(heads.begin());
  AddHead(machines, last_, heads);
  if (!heads.empty()) ranks_.insert(inventory_->spot().RankOf(last_));
  last_.clear();
}

void Victims::LookOn() {
  const absl::btree_set<SpotRank>& all = inventory_->spot().ranks();
  for (auto rank = looked_ ? all.upper_bound(*looked_) : all.begin();
       rank != all.end() && (ranks_.empty() || *rank < *ranks_.begin()); ++rank) {
    looked_ = *rank;
    const auto [it, created] = heads_.try_emplace(rank->pool_uid);
    if (!created) continue;  // it came here by a reclaim
    for (const LabelClass* machines : classes_) AddHead(*machines, rank->pool_uid, it->second);
    if (!it->second.empty()) ranks_.insert(*rank);
  }
}

std::optional<std::string> Victims::Next() {
  if (!last_.empty()) RankAnew();
  LookOn();
  if (ranks_.empty()) return std::nullopt;
  const auto first = ranks_.begin();
  last_ = first->pool_uid;
  ranks_.erase(first);
  return heads_.at(last_).begin()->first.id;
}

}  // namespace muster::capacity
