#include "services/capacity/core/census.h"

#include <algorithm>

#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

constexpr char kOther[] = "other";

InventoryKey KeyOf(const State& state, const std::string& zone, const std::string& type) {
  return {state.FindZone(zone) == nullptr ? kOther : zone,
          state.FindInstanceType(type) == nullptr ? kOther : type};
}

}  // namespace

void Census::AddMachines(const State& state) {
  for (const auto& [key, inventory] : state.inventories())
    machines[KeyOf(state, key.first, key.second)] += inventory.counts();
}

void Census::Add(const State& state, const ClaimRow& claim) {
  const auto [zone, type] = KeyOf(state, claim.zone, claim.instance_type);
  ClaimCount& count = claims[{zone, type, claim.compute_class}];
  ++count.claims;
  if (claim.parts.empty()) return;
  ++count.waiting;
  count.nodes += Outstanding(claim.parts);
  for (const ClaimPart& part : claim.parts)
    count.oldest = std::min(count.oldest, WaitedForSince(claim, part.request_time));
}

}  // namespace muster::capacity
