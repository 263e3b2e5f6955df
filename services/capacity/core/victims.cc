#include "services/capacity/core/victims.h"

#include <algorithm>

namespace muster::capacity {
namespace {

std::optional<Newest> NewestOf(const Depot& depot, const std::string& uid, const Choice& choice) {
  std::optional<Newest> newest;
  for (const auto& [labels, machines] : depot.classes()) {
    const auto held = machines.reclaimable.find(uid);
    if (held == machines.reclaimable.end() || !choice.Has(labels)) continue;
    const Newest& here = *held->second.begin();
    if (!newest || here < *newest) newest = here;
  }
  return newest;
}

}  // namespace

std::optional<std::string> NextVictim(const Depot& depot, const Choice& choice) {
  for (const SpotRank& rank : depot.spot().ranks()) {
    const std::optional<Newest> newest = NewestOf(depot, rank.pool_uid, choice);
    if (newest) return newest->id;
  }
  return std::nullopt;
}

}  // namespace muster::capacity
