#include "services/capacity/core/view.h"

#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

ClaimReason ReasonOf(const State& state, const ClaimRow& claim, int64_t held, int64_t in_service) {
  switch (OfferOf(state, claim.zone, claim.instance_type, claim.compute_class)) {
    case Offer::kUnknownInstanceType:
      return ClaimReason::kUnknownInstanceType;
    case Offer::kNotInZone:
      return ClaimReason::kNotInZone;
    case Offer::kOffered:
      break;
  }
  if (claim.parts.empty()) return ClaimReason::kSufficient;
  if (in_service == 0) return ClaimReason::kNoneAvailable;
  return held > 0 && in_service < claim.nodes ? ClaimReason::kPartial : ClaimReason::kQueued;
}

}  // namespace

ClaimView ViewOf(const State& state, const ClaimRow& claim) {
  const Footprint& footprint = state.FootprintOf(claim.pool_uid);
  const Depot* depot = state.FindDepot({claim.zone, claim.instance_type});
  ClaimView view;
  view.claim = claim;
  view.machines.assign(footprint.machines.begin(), footprint.machines.end());
  view.in_service = depot == nullptr ? 0 : depot->in_service();
  view.reason = ReasonOf(state, claim, footprint.held(), view.in_service);
  return view;
}

}  // namespace muster::capacity
