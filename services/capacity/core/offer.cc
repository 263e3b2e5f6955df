#include "services/capacity/core/offer.h"

#include <algorithm>

namespace muster::capacity {

Offer OfferOf(const State& state, absl::string_view zone, absl::string_view instance_type,
              ComputeClass compute_class) {
  const InstanceTypeRow* type = state.FindInstanceType(instance_type);
  if (type == nullptr) return Offer::kUnknownInstanceType;
  const ZoneRow* place = state.FindZone(zone);
  if (place == nullptr ||
      !std::binary_search(place->instance_types.begin(), place->instance_types.end(), type->id)) {
    return Offer::kNotInZone;
  }
  const bool spot =
      place->access == ZoneAccess::kGeneral && !type->superchip && type->nodes_per_rack == 0;
  return compute_class == ComputeClass::kSpot && !spot ? Offer::kNotInZone : Offer::kOffered;
}

}  // namespace muster::capacity
