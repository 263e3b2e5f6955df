#include "services/capacity/core/view.h"

#include "services/capacity/core/gang.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

// Of a claim whose parts are granted as a whole, or in whole racks: what can never be met does not
// wait.
ClaimReason ReasonOfWhole(const State& state, const Inventory& inventory, const ClaimView& view) {
  if (CanAnyBeMet(state, inventory, view.claim)) return ClaimReason::kQueued;
  const bool partial = state.FootprintOf(view.claim.pool_uid).held() > 0;
  ClaimRow anywhere = view.claim;
  anywhere.affinity = {};
  if (!view.claim.affinity.empty() && CanAnyBeMet(state, inventory, anywhere)) {
    return partial ? ClaimReason::kPartialNodeAffinity : ClaimReason::kNoneAvailableNodeAffinity;
  }
  return partial ? ClaimReason::kPartial : ClaimReason::kNoneAvailable;
}

ClaimReason ReasonOf(const State& state, const Inventory* inventory, const ClaimView& view) {
  const ClaimRow& claim = view.claim;
  switch (OfferOf(state, claim.zone, claim.instance_type, claim.compute_class)) {
    case Offer::kUnknownInstanceType:
      return ClaimReason::kUnknownInstanceType;
    case Offer::kNotInZone:
      return ClaimReason::kNotInZone;
    case Offer::kOffered:
      break;
  }
  if (claim.parts.empty()) return ClaimReason::kSufficient;
  if (view.in_service == 0) return ClaimReason::kNoneAvailable;
  if (view.matching == 0) return ClaimReason::kNoneAvailableNodeAffinity;
  if (claim.gang || inventory->nodes_per_rack() > 0) return ReasonOfWhole(state, *inventory, view);
  const int64_t leaving = CountLeaving(state, *inventory, claim);
  const int64_t may_come = CountElsewhere(state, *inventory, claim) + leaving;
  if (state.FootprintOf(claim.pool_uid).held() == 0 || may_come >= Outstanding(claim.parts))
    return ClaimReason::kQueued;
  return view.in_service + leaving >= claim.nodes ? ClaimReason::kPartialNodeAffinity
                                                  : ClaimReason::kPartial;
}

std::vector<Reclaimed> ReclaimsOf(const Inventory& inventory, const Footprint& footprint,
                                  const std::string& uid) {
  std::vector<Reclaimed> reclaims;
  const auto holding = inventory.spot().holdings().find(uid);
  if (holding == inventory.spot().holdings().end() || holding->second.reclaiming == 0)
    return reclaims;
  for (const MachineRow* machine : footprint.machines) {
    if (machine->reclaim_time) reclaims.push_back({*machine->reclaim_time, machine->id});
  }
  return reclaims;
}

void TellMachines(const Footprint& footprint, ClaimView& view) {
  view.machines.reserve(footprint.machines.size());
  view.racks.reserve(footprint.machines.size());
  view.request_times.reserve(footprint.machines.size());
  view.grant_times.reserve(footprint.machines.size());
  for (const MachineRow* machine : footprint.machines) {
    view.machines.push_back(machine->id);
    view.racks.push_back(machine->rack);
    view.request_times.push_back(machine->request_time.value_or(machine->state_time));
    view.grant_times.push_back(machine->state_time);
  }
}

}  // namespace

ClaimView ViewOf(const State& state, const ClaimRow& claim, absl::string_view known_machines) {
  const Footprint& footprint = state.FootprintOf(claim.pool_uid);
  const Inventory* inventory = state.FindInventory({claim.zone, claim.instance_type});
  ClaimView view;
  view.claim = claim;
  view.machines_print = PrintOf(claim, footprint.print);
  view.machines_unchanged = view.machines_print == known_machines;
  if (!view.machines_unchanged) TellMachines(footprint, view);
  if (inventory != nullptr) {
    view.in_service = inventory->in_service();
    const MachineCounts matching = inventory->Matching(claim.affinity);
    view.matching = matching.in_service();
    view.matching_in_repair = matching.count(MachineState::kInRepair);
    if (!claim.parts.empty()) view.queue = inventory->queue().PlaceOf(claim);
    view.reclaims = ReclaimsOf(*inventory, footprint, claim.pool_uid);
  }
  view.reason = ReasonOf(state, inventory, view);
  return view;
}

}  // namespace muster::capacity
