#include "services/capacity/core/victims.h"

#include <algorithm>

namespace muster::capacity {
namespace {

std::optional<Newest> NewestOf(const Inventory& inventory, const std::string& uid,
                               const Choice& choice) {
  std::optional<Newest> newest;
  for (const auto& machines : inventory.classes()) {
    const auto held = machines.second.reclaimable.find(uid);
    if (held == machines.second.reclaimable.end() || !choice.Has(inventory, machines)) continue;
    const Newest& here = *held->second.begin();
    if (!newest || here < *newest) newest = here;
  }
  return newest;
}

}  // namespace

std::optional<std::string> NextVictim(const Inventory& inventory, const Choice& choice) {
  for (const SpotRank& rank : inventory.spot().ranks()) {
    const std::optional<Newest> newest = NewestOf(inventory, rank.pool_uid, choice);
    if (newest) return newest->id;
  }
  return std::nullopt;
}

}  // namespace muster::capacity
