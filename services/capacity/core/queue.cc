#include "services/capacity/core/queue.h"

#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

// Adds `nodes` to the place, which is one entry whoever owns its Nodes, and is gone at 0.
void Count(Queue::Places& places, const PlaceKey& key, int64_t nodes) {
  const QueueSum* known = places.Find(key);
  const int64_t sum = (known == nullptr ? 0 : known->nodes) + nodes;
  if (known != nullptr) places.Erase(key);
  if (sum != 0) places.Insert(key, {1, sum});
}

}  // namespace

bool IsAtOnce(const ClaimRow& claim, const ClaimPart& part, const Ages& ages) {
  return claim.gang && !ages.contains(part.request_time) && !HasLost(claim, part.request_time);
}

void Queue::AddPlaces(Organization& organization, const ClaimRow& claim, int64_t by) {
  for (const ClaimPlace& place : PlacesInQueue(claim)) {
    const PlaceKey key{claim.compute_class, place.time, claim.organization, place.asked_by};
    Count(places_, key, by * place.nodes);
    Count(organization.places, key, by * place.nodes);
    if (by > 0)
      organization.owners[{key, claim.pool_uid}] = place.nodes;
    else
      organization.owners.erase({key, claim.pool_uid});
  }
}

void Queue::Add(const ClaimRow& claim, const Ages& ages) {
  Organization& organization = organizations_[claim.organization];
  for (const ClaimPart& part : PartsInQueue(claim)) {
    const Selector selector{claim.affinity, IsAtOnce(claim, part, ages)};
    organization.requests.Insert({KeyOf(claim, part), selector}, {1, part.nodes});
    lines_[selector].insert({claim.compute_class, part.request_time, claim.pool_uid});
  }
  AddPlaces(organization, claim, 1);
}

void Queue::Remove(const ClaimRow& claim, const Ages& ages) {
  const auto organization = organizations_.find(claim.organization);
  for (const ClaimPart& part : PartsInQueue(claim)) {
    const auto line = lines_.find(Selector{claim.affinity, IsAtOnce(claim, part, ages)});
    organization->second.requests.Erase({KeyOf(claim, part), {}});
    line->second.erase({claim.compute_class, part.request_time, claim.pool_uid});
    if (line->second.empty()) lines_.erase(line);
  }
  AddPlaces(organization->second, claim, -1);
  if (organization->second.requests.empty()) organizations_.erase(organization);
}

PlaceKey Queue::PlaceOfNode(const Organization& organization, int64_t nth) {
  return organization.places.At(nth, [](const QueueSum& sum) { return sum.nodes; })->first;
}

Position Queue::PositionOf(const ClaimRow& claim, const ClaimPart& part) const {
  const Organization& organization = organizations_.at(claim.organization);
  const QueueKey key = KeyOf(claim, part);
  const int64_t before = organization.requests.Before(Request{key, {}}).nodes;
  return {PlaceOfNode(organization, before + part.nodes - 1), key};
}

QueuePlace Queue::PlaceOf(const ClaimRow& claim) const {
  QueuePlace place;
  if (claim.parts.empty()) return place;
  const Organization& organization = organizations_.at(claim.organization);
  const QueueSum own = organization.requests.Before(Request{KeyOf(claim, claim.parts.front()), {}});
  const PlaceKey first = PlaceOfNode(organization, own.nodes);
  place.place =
      1 + own.entries + places_.Before(first).entries - organization.places.Before(first).entries;
  const ClaimPart& youngest = claim.parts.back();
  const int64_t nth =
      organization.requests.Before(Request{KeyOf(claim, youngest), {}}).nodes + youngest.nodes - 1;
  const PlaceKey last = PlaceOfNode(organization, nth);
  // Ahead of its last Node, less its own.
  place.nodes_ahead = nth + places_.Before(last).nodes - organization.places.Before(last).nodes -
                      (Outstanding(claim.parts) - 1);
  return place;
}

std::string Queue::OwnerOf(const PlaceKey& place, absl::string_view uid) const {
  const auto& owners = organizations_.at(place.organization).owners;
  for (auto it = owners.lower_bound({place, ""}); it != owners.end() && it->first.first == place;
       ++it) {
    if (it->first.second != uid) return it->first.second;
  }
  return "";
}

}  // namespace muster::capacity
