#include "services/capacity/core/view.h"

#include <algorithm>

#include "services/capacity/core/gang.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

// Of a claim whose parts are granted as a whole, or in whole racks: what can never be met does not
// wait.
ClaimReason ReasonOfWhole(const State& state, const Depot& depot, const ClaimView& view) {
  const auto can = [&](const ClaimRow& claim) {
    return std::any_of(claim.parts.begin(), claim.parts.end(), [&](const ClaimPart& part) {
      return CanEverBeMet(state, depot, claim, part);
    });
  };
  if (can(view.claim)) return ClaimReason::kQueued;
  ClaimRow anywhere = view.claim;
  anywhere.affinity = {};
  const bool partial = !view.machines.empty();
  if (can(anywhere)) {
    return partial ? ClaimReason::kPartialNodeAffinity : ClaimReason::kNoneAvailableNodeAffinity;
  }
  return partial ? ClaimReason::kPartial : ClaimReason::kNoneAvailable;
}

ClaimReason ReasonOf(const State& state, const Depot* depot, const ClaimView& view) {
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
  if (claim.gang || depot->nodes_per_rack() > 0) return ReasonOfWhole(state, *depot, view);
  if (view.machines.empty() || CountElsewhere(state, *depot, claim) >= Outstanding(claim.parts))
    return ClaimReason::kQueued;
  return view.in_service >= claim.nodes ? ClaimReason::kPartialNodeAffinity : ClaimReason::kPartial;
}

std::vector<Reclaimed> ReclaimsOf(const State& state, const Depot& depot,
                                  const Footprint& footprint, const std::string& uid) {
  std::vector<Reclaimed> reclaims;
  const auto holding = depot.spot().holdings().find(uid);
  if (holding == depot.spot().holdings().end() || holding->second.reclaiming == 0) return reclaims;
  for (const std::string& id : footprint.machines) {
    const std::optional<absl::Time> time = state.FindMachine(id)->reclaim_time;
    if (time) reclaims.push_back({*time, id});
  }
  return reclaims;
}

}  // namespace

ClaimView ViewOf(const State& state, const ClaimRow& claim) {
  const Footprint& footprint = state.FootprintOf(claim.pool_uid);
  const Depot* depot = state.FindDepot({claim.zone, claim.instance_type});
  ClaimView view;
  view.claim = claim;
  view.machines.assign(footprint.machines.begin(), footprint.machines.end());
  view.racks.reserve(view.machines.size());
  for (const std::string& id : view.machines) view.racks.push_back(state.FindMachine(id)->rack);
  if (depot != nullptr) {
    view.in_service = depot->in_service();
    view.matching = depot->Matching(claim.affinity).in_service();
    if (!claim.parts.empty()) view.queue = depot->queue().PlaceOf(claim);
    view.reclaims = ReclaimsOf(state, *depot, footprint, claim.pool_uid);
  }
  view.reason = ReasonOf(state, depot, view);
  return view;
}

}  // namespace muster::capacity
