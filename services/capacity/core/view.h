#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/capacity/core/state.h"

namespace muster::capacity {

// See Claim.Reason in the proto.
enum class ClaimReason {
  kSufficient,
  kQueued,
  kPartial,
  kNoneAvailable,
  kUnknownInstanceType,
  kNotInZone
};

// A claim with what follows from the rest of the state.
struct ClaimView {
  ClaimRow claim = {};
  std::vector<std::string> machines = {};  // ids, sorted
  ClaimReason reason = ClaimReason::kSufficient;
  int64_t in_service = 0;

  bool operator==(const ClaimView&) const = default;
};

// Costs O(machines held).
ClaimView ViewOf(const State& state, const ClaimRow& claim);

}  // namespace muster::capacity
