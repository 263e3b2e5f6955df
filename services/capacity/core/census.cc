#include "services/capacity/core/census.h"

#include <algorithm>

#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

constexpr char kOther[] = "other";

InventoryKey KeyOf(const State& state, const std::string& zone, const std::string& type) {
  return {state.FindZone(zone) == nullptr ? kOther : zone,
          state.FindInstanceType(type) == nullptr ? kOther : type};
}

bool IsServable(const State& state, const ClaimRow& claim, int64_t nodes) {
  const Inventory* inventory = state.FindInventory({claim.zone, claim.instance_type});
  return inventory != nullptr && inventory->free() >= nodes &&
         inventory->Matching(claim.affinity).free() >= nodes &&
         OfferOf(state, claim.zone, claim.instance_type, claim.compute_class) == Offer::kOffered;
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
  const int64_t nodes = Outstanding(claim.parts);
  ++count.waiting;
  count.nodes += nodes;
  if (IsServable(state, claim, nodes)) count.servable += nodes;
  for (const ClaimPart& part : claim.parts)
    count.oldest = std::min(count.oldest, WaitedForSince(claim, part.request_time));
}

}  // namespace muster::capacity
