#include "services/capacity/core/parts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "services/capacity/core/limits.h"

namespace muster::capacity {
namespace {

// Takes places for so many Nodes: each time from the one that `next()` names.
template <class Next>
std::vector<ClaimPlace> TakeEach(ClaimRow& claim, int64_t nodes, Next next) {
  std::vector<ClaimPlace> taken;
  while (nodes > 0) {
    ClaimPlace place = next();
    place.nodes = TakePlace(claim, place.time, place.asked_by, nodes);
    nodes -= place.nodes;
    taken.push_back(std::move(place));
  }
  return taken;
}

}  // namespace

int64_t Outstanding(const std::vector<ClaimPart>& parts) {
  int64_t nodes = 0;
  for (const ClaimPart& part : parts) nodes += part.nodes;
  return nodes;
}

void AddPart(std::vector<ClaimPart>& parts, absl::Time time, int64_t nodes) {
  if (nodes == 0) return;
  // Almost always at the end; before it for a machine lost to repair, or when a replica's clock is
  // behind.
  auto at = parts.end();
  while (at != parts.begin() && time < std::prev(at)->request_time) --at;
  if (at != parts.begin() && std::prev(at)->request_time == time) {
    std::prev(at)->nodes += nodes;
    return;
  }
  parts.insert(at, {time, nodes});
}

void CancelYoungest(std::vector<ClaimPart>& parts, int64_t nodes) {
  while (nodes > 0 && !parts.empty()) {
    const int64_t taken = std::min(nodes, parts.back().nodes);
    parts.back().nodes -= taken;
    nodes -= taken;
    if (parts.back().nodes == 0) parts.pop_back();
  }
}

void TakeFrom(std::vector<ClaimPart>& parts, absl::Time time) {
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [time](const ClaimPart& one) { return one.request_time == time; });
  if (--part->nodes == 0) parts.erase(part);
}

bool HasPart(const ClaimRow& claim, absl::Time time) {
  const auto is_of_it = [&](const ClaimPart& part) { return part.request_time == time; };
  return std::any_of(claim.parts.begin(), claim.parts.end(), is_of_it) ||
         std::any_of(claim.withheld_parts.begin(), claim.withheld_parts.end(), is_of_it);
}

namespace {

std::vector<LostRequest>::const_iterator FindLost(const ClaimRow& claim, absl::Time time) {
  return std::lower_bound(
      claim.lost.begin(), claim.lost.end(), time,
      [](const LostRequest& lost, absl::Time at) { return lost.request_time < at; });
}

}  // namespace

void NoteLost(ClaimRow& claim, absl::Time time, absl::Time now) {
  if (!HasLost(claim, time))
    claim.lost.insert(FindLost(claim, time),
                      {time, HasPart(claim, time) ? time : std::max(time, now)});
}

bool HasLost(const ClaimRow& claim, absl::Time time) {
  const auto at = FindLost(claim, time);
  return at != claim.lost.end() && at->request_time == time;
}

void ForgetLost(ClaimRow& claim) {
  std::erase_if(claim.lost,
                [&](const LostRequest& lost) { return !HasPart(claim, lost.request_time); });
}

absl::Time WaitedForSince(const ClaimRow& claim, absl::Time time) {
  return HasLost(claim, time) ? FindLost(claim, time)->since : time;
}

namespace {

// `places`: as they are stored.
std::vector<ClaimPlace> Spelt(const ClaimRow& claim, const std::vector<ClaimPart>& parts,
                              const std::vector<ClaimPlace>& places) {
  if (!places.empty()) return places;
  std::vector<ClaimPlace> own;
  own.reserve(parts.size());
  for (const ClaimPart& part : parts)
    own.push_back({part.request_time, claim.pool_uid, part.nodes});
  return own;
}

}  // namespace

std::vector<ClaimPlace> PlacesOf(const ClaimRow& claim) {
  return Spelt(claim, claim.parts, claim.places);
}

bool Rests(const ClaimRow& claim) {
  return claim.parts.empty() && !claim.withheld_parts.empty() &&
         claim.withheld_generation == claim.generation;
}

const std::vector<ClaimPart>& PartsInQueue(const ClaimRow& claim) {
  return Rests(claim) ? claim.withheld_parts : claim.parts;
}

std::vector<ClaimPlace> PlacesInQueue(const ClaimRow& claim) {
  return Rests(claim) ? Spelt(claim, claim.withheld_parts, claim.withheld_places) : PlacesOf(claim);
}

void Withhold(ClaimRow& claim) {
  claim.withheld_parts = std::exchange(claim.parts, {});
  claim.withheld_places = std::exchange(claim.places, {});
}

namespace {

// What is withheld, as a claim of its own.
ClaimRow TakeWithheld(ClaimRow& claim) {
  ClaimRow withheld;
  withheld.pool_uid = claim.pool_uid;
  withheld.parts = std::exchange(claim.withheld_parts, {});
  withheld.places = std::exchange(claim.withheld_places, {});
  return withheld;
}

void PutWithheld(ClaimRow withheld, ClaimRow& claim) {
  claim.withheld_parts = std::move(withheld.parts);
  claim.withheld_places = std::move(withheld.places);
}

}  // namespace

int64_t TakeUp(ClaimRow& claim, int64_t nodes) {
  if (claim.withheld_parts.empty()) return 0;
  ClaimRow rest = TakeWithheld(claim);
  nodes = std::min(nodes, Outstanding(rest.parts));
  SpellPlaces(claim);
  SpellPlaces(rest);
  for (const ClaimPlace& place : TakeOldest(rest, nodes)) AddPlace(claim, place);
  for (int64_t left = nodes; left > 0;) {
    ClaimPart& oldest = rest.parts.front();
    const int64_t taken = std::min(left, oldest.nodes);
    AddPart(claim.parts, oldest.request_time, taken);
    oldest.nodes -= taken;
    left -= taken;
    if (oldest.nodes == 0) rest.parts.erase(rest.parts.begin());
  }
  TidyPlaces(claim);
  TidyPlaces(rest);
  PutWithheld(std::move(rest), claim);
  return nodes;
}

void CancelWithheld(ClaimRow& claim, int64_t nodes) {
  const int64_t more = Outstanding(claim.withheld_parts) - nodes;
  if (more <= 0) return;
  ClaimRow withheld = TakeWithheld(claim);
  Cancel(withheld, more);
  PutWithheld(std::move(withheld), claim);
}

void SpellPlaces(ClaimRow& claim) { claim.places = PlacesOf(claim); }

void TidyPlaces(ClaimRow& claim) {
  const std::vector<ClaimPlace> spelt = std::exchange(claim.places, {});
  if (spelt != PlacesOf(claim)) claim.places = spelt;
}

void AddPlace(ClaimRow& claim, const ClaimPlace& place) {
  if (place.nodes == 0) return;
  const auto at =
      std::lower_bound(claim.places.begin(), claim.places.end(), place,
                       [](const ClaimPlace& a, const ClaimPlace& b) {
                         return std::tie(a.time, a.asked_by) < std::tie(b.time, b.asked_by);
                       });
  if (at != claim.places.end() && at->time == place.time && at->asked_by == place.asked_by)
    at->nodes += place.nodes;
  else
    claim.places.insert(at, place);
}

int64_t TakePlace(ClaimRow& claim, absl::Time time, const std::string& asked_by, int64_t nodes) {
  const auto at = std::find_if(
      claim.places.begin(), claim.places.end(),
      [&](const ClaimPlace& place) { return place.time == time && place.asked_by == asked_by; });
  if (at == claim.places.end()) return 0;
  const int64_t taken = std::min(nodes, at->nodes);
  at->nodes -= taken;
  if (at->nodes == 0) claim.places.erase(at);
  return taken;
}

std::vector<ClaimPlace> TakeYoungest(ClaimRow& claim, int64_t nodes) {
  return TakeEach(claim, nodes, [&] { return claim.places.back(); });
}

std::vector<ClaimPlace> TakeOldest(ClaimRow& claim, int64_t nodes) {
  return TakeEach(claim, nodes, [&] { return claim.places.front(); });
}

void Ask(ClaimRow& claim, absl::Time time, int64_t nodes, absl::Time place) {
  const bool plain = claim.places.empty() && place == time;
  if (!plain) {
    SpellPlaces(claim);
    AddPlace(claim, {place, claim.pool_uid, nodes});
  }
  AddPart(claim.parts, time, nodes);
  if (!plain) TidyPlaces(claim);
}

void Cancel(ClaimRow& claim, int64_t nodes) {
  if (!claim.places.empty()) TakeYoungest(claim, nodes);
  CancelYoungest(claim.parts, nodes);
  TidyPlaces(claim);
}

}  // namespace muster::capacity
