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

// Whether something of the request of that time is outstanding or withheld.
bool HasPart(const ClaimRow& claim, absl::Time time);

// Of claim.lost, the requests that have lost a machine, by their times: NoteLost adds one at `now`,
// before the machine is asked for again; HasLost tells whether it is there; ForgetLost drops those
// of which nothing is outstanding or withheld.
void NoteLost(ClaimRow& claim, absl::Time time, absl::Time now);
bool HasLost(const ClaimRow& claim, absl::Time time);
void ForgetLost(ClaimRow& claim);

// Since when something of the request of that time has been outstanding without a break: a lost
// machine's Node keeps its age, but while all had their machines nobody waited.
absl::Time WaitedForSince(const ClaimRow& claim, absl::Time time);

// The claim's places, oldest first.
std::vector<ClaimPlace> PlacesOf(const ClaimRow& claim);

// Makes all that the claim waits for withheld, with its places. Nothing may be withheld before.
void Withhold(ClaimRow& claim);
// Puts the oldest `nodes` of what is withheld, or all if there are fewer, back as they were.
// Returns how many.
int64_t TakeUp(ClaimRow& claim, int64_t nodes);
// Cancels the youngest of what is withheld, until there are no more than `nodes`.
void CancelWithheld(ClaimRow& claim, int64_t nodes);

// Whether the claim waits, and all of it is withheld. Then this stands in the queue (queue.h), so
// that what is kept and reclaimed for the claim stays so, and is granted nothing.
bool Rests(const ClaimRow& claim);
// What of the claim stands in the queue: its parts or, while it rests, what is withheld.
const std::vector<ClaimPart>& PartsInQueue(const ClaimRow& claim);
std::vector<ClaimPlace> PlacesInQueue(const ClaimRow& claim);

// Spells claim.places out where they are empty because they are those of the parts, so that parts
// and places can be changed one by one.
void SpellPlaces(ClaimRow& claim);
// The reverse, to be called after the changes: empties claim.places if they are those of the parts.
void TidyPlaces(ClaimRow& claim);

// These need spelt places. AddPlace: its nodes may be 0. TakePlace: takes up to `nodes` of the
// place that the claim `asked_by` asked for at `time`, and returns how many it took. TakeYoungest
// and TakeOldest: there must be as many.
void AddPlace(ClaimRow& claim, const ClaimPlace& place);
int64_t TakePlace(ClaimRow& claim, absl::Time time, const std::string& asked_by, int64_t nodes);
std::vector<ClaimPlace> TakeYoungest(ClaimRow& claim, int64_t nodes);
std::vector<ClaimPlace> TakeOldest(ClaimRow& claim, int64_t nodes);

// AddPart, with as many places of the claim's own, of the time `place`.
void Ask(ClaimRow& claim, absl::Time time, int64_t nodes, absl::Time place);
// CancelYoungest, with as many of the claim's youngest places.
void Cancel(ClaimRow& claim, int64_t nodes);

}  // namespace muster::capacity
