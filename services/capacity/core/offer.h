#pragma once

#include "absl/strings/string_view.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// Whether the catalogue offers what a claim asks for.
enum class Offer { kOffered, kUnknownInstanceType, kNotInZone };

// Spot is offered in general zones only, and never on superchips nor on types that are granted in
// whole racks: a reclaim of single machines would break racks up.
Offer OfferOf(const State& state, absl::string_view zone, absl::string_view instance_type,
              ComputeClass compute_class);

}  // namespace muster::capacity
