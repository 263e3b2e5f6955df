#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/rows.h"

// The outstanding parts of a claim: asked for at different times, served oldest first, cancelled
// youngest first; and its places in the queue (queue.h), as many as it has Nodes outstanding.
namespace muster::capacity {

// Nodes in all parts.
int64_t Outstanding(const std::vector<ClaimPart>& parts);

// Adds `nodes` (may be 0) asked for at `time`.
void AddPart(std::vector<ClaimPart>& parts, absl::Time time, int64_t nodes);

// Takes `nodes` away from the youngest parts. There must be as many.
void CancelYoungest(std::vector<ClaimPart>& parts, int64_t nodes);

// Takes one Node from the part of that time. There must be one.
void TakeFrom(std::vector<ClaimPart>& parts, absl::Time time);

// NoteLost remembers that a request has lost a machine, HasLost tells whether it has one of which something is outstanding;
// ForgetLost drops those of which nothing is.
void NoteLost(ClaimRow& claim, absl::Time time);
bool HasLost(const ClaimRow& claim, absl::Time time);
void ForgetLost(ClaimRow& claim);

// The claim's places, oldest first.
std::vector<ClaimPlace> PlacesOf(const ClaimRow& claim);

// What the claim waits for leaves the queue, with its places. Nothing must be withheld before.
void Withhold(ClaimRow& claim);
// The oldest `nodes` of what is withheld, or as many as there are, are back in the queue as they were. How many.
int64_t TakeUp(ClaimRow& claim, int64_t nodes);
// Of what is withheld the youngest are cancelled, until there are no more than `nodes`.
void CancelWithheld(ClaimRow& claim, int64_t nodes);

// Makes claim.places all that the claim has, so that parts and places can be changed one by one.
void SpellPlaces(ClaimRow& claim);
// The other way round, after that: leaves them out where they are those of the parts.
void TidyPlaces(ClaimRow& claim);

// Of spelt places. AddPlace: nodes may be 0. TakePlace: up to `nodes` of those asked for then by
// that claim; how many there were. TakeYoungest and TakeOldest: there must be as many.
void AddPlace(ClaimRow& claim, const ClaimPlace& place);
int64_t TakePlace(ClaimRow& claim, absl::Time time, const std::string& asked_by, int64_t nodes);
std::vector<ClaimPlace> TakeYoungest(ClaimRow& claim, int64_t nodes);
std::vector<ClaimPlace> TakeOldest(ClaimRow& claim, int64_t nodes);

// AddPart with places of the claim's own, of the time `place`.
void Ask(ClaimRow& claim, absl::Time time, int64_t nodes, absl::Time place);
// CancelYoungest with the claim's youngest places.
void Cancel(ClaimRow& claim, int64_t nodes);

}  // namespace muster::capacity
