#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/rows.h"

// The outstanding parts of a claim: asked for at different times, served oldest first, cancelled
// youngest first.
namespace muster::capacity {

// Nodes in all parts.
int64_t Outstanding(const std::vector<ClaimPart>& parts);

// Adds `nodes` (may be 0) asked for at `time`. With more than kMaxParts the two youngest become
// one, with the younger's time.
void AddPart(std::vector<ClaimPart>& parts, absl::Time time, int64_t nodes);

// Takes `nodes` away from the youngest parts. There must be as many.
void CancelYoungest(std::vector<ClaimPart>& parts, int64_t nodes);

// Takes one Node from the part of that time. There must be one.
void TakeFrom(std::vector<ClaimPart>& parts, absl::Time time);

}  // namespace muster::capacity
