#include "services/capacity/core/finder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/placement.h"

namespace muster::capacity {
namespace {

// What a zone has of one type, and what the query's earlier requests would take of it. Claims that
// wait cannot have what is free, or they would have been served: of what is free only that is out
// of reach which is kept for gangs ahead.
struct Stock {
  const Inventory* inventory = nullptr;
  std::vector<KeptGang> kept = {};
  int64_t reclaimable = 0;  // CountReclaimable
  int64_t to_be_had = 0;    // CountToBeHad
  int64_t free_taken = 0;
  int64_t spot_taken = 0;
  int64_t asked = 0;
};

// How much more there is than is asked for, as a fraction, so that requests of any size compare.
struct Spare {
  int64_t nodes = 0;
  int64_t of = 1;
  bool operator<(const Spare& other) const { return nodes * other.of < other.nodes * of; }
};

struct Ranked {
  ZonePlacements zone = {};
  Spare spare = {};
};

// How many free machines a new claim would be granted at once, before the requests gone through.
int64_t Grantable(const Stock& stock, const PlaceKey& place) {
  static const Affinity* const kEvery = new Affinity();
  EligibleMachines eligible{.affinity = kEvery};
  for (const KeptGang& gang : stock.kept) {
    if (!gang.KeepsFrom(place.compute_class) || !(gang.position.place < place)) continue;
    if (gang.racks.empty())
      eligible.kept.push_back(&gang.affinity);
    else
      eligible.racks.push_back(&gang.racks);
  }
  return CountOnOffer(*stock.inventory, eligible);
}

Availability AvailabilityOf(int64_t nodes, int64_t free, int64_t spot, int64_t in_service) {
  if (free >= nodes) return Availability::kLikely;
  if (free + spot >= nodes) return Availability::kPossibly;
  return free + spot > 0 || in_service >= nodes ? Availability::kLimited
                                                : Availability::kNotAvailable;
}

// Whether default claims behind it go before it.
bool ComesLast(const State& state, const ClaimRow& claim, absl::Time keeps_after) {
  const Ages& ages = state.FootprintOf(claim.pool_uid).ages;
  const std::vector<ClaimPart>& parts = PartsInQueue(claim);
  return std::all_of(parts.begin(), parts.end(), [&](const ClaimPart& part) {
    return part.request_time <= keeps_after && IsAtOnce(claim, part, ages);
  });
}

// Machines that would come from spot for a new claim of class default: those held, and of those
// being reclaimed what comes for nobody or for gangs that keep nothing any more. Nothing is for
// whole racks, whoever holds them since before they were granted so.
int64_t CountReclaimable(const State& state, const Inventory& inventory,
                         const std::vector<Affinity>& blocking, absl::Time keeps_after) {
  if (inventory.nodes_per_rack() > 0) return 0;
  const Affinity every;
  EligibleMachines eligible{.affinity = &every};
  for (const Affinity& affinity : blocking) eligible.kept.push_back(&affinity);
  int64_t reclaimable = 0;
  for (const auto& machines : inventory.classes()) {
    if (eligible.Has(inventory, machines)) reclaimable += machines.second.counts.reclaimable;
  }
  for (const auto& [uid, reclaims] : inventory.spot().reclaims()) {
    const ClaimRow* claim = state.FindClaim(uid);
    if (claim != nullptr && !ComesLast(state, *claim, keeps_after)) continue;
    reclaimable += std::count_if(reclaims.begin(), reclaims.end(), [&](const Reclaimed& reclaim) {
      const Labels& labels = state.FindMachine(reclaim.machine)->labels;
      return eligible.Has(inventory, inventory.ClassOf(labels));
    });
  }
  return reclaimable;
}

// Machines that could be granted once all is given back; of a rack, once it is repaired.
int64_t CountToBeHad(const Inventory& inventory) {
  const int64_t size = inventory.nodes_per_rack();
  if (size == 0) return inventory.in_service();
  const auto machines = CountByRack(inventory, Affinity());
  return size * std::count_if(machines.begin(), machines.end(), [&](const auto& rack) {
           return !rack.first.second.empty() && rack.second >= size;
         });
}

// What the request would get; notes what it takes.
Placement Take(Stock& stock, const PlacementRequest& request, Spare& spare) {
  const PlaceKey place{request.compute_class, absl::InfiniteFuture()};
  const bool reclaims = request.compute_class == ComputeClass::kDefault;
  const int64_t nodes = request.nodes;
  const int64_t free = std::max<int64_t>(0, Grantable(stock, place) - stock.free_taken);
  Placement placement;
  placement.free = Grantable(stock, {}) - stock.free_taken;
  placement.reclaimable = reclaims ? stock.reclaimable - stock.spot_taken : 0;
  placement.queue_ahead = stock.inventory->queue().NodesBefore(place);
  placement.availability =
      AvailabilityOf(nodes, free, placement.reclaimable, stock.to_be_had - stock.asked);
  spare.of = nodes;
  spare.nodes = free - nodes;
  if (placement.availability > Availability::kLikely) spare.nodes += placement.reclaimable;
  if (placement.availability > Availability::kPossibly) spare.nodes -= placement.queue_ahead;
  const int64_t from_free = std::min(nodes, free);
  stock.free_taken += from_free;
  stock.spot_taken += std::min(nodes - from_free, placement.reclaimable);
  stock.asked += nodes;
  return placement;
}

Ranked Rank(const State& state, const std::string& zone,
            const std::vector<PlacementRequest>& requests, absl::Time keeps_after) {
  Ranked ranked{{.zone = zone}, {std::numeric_limits<int32_t>::max(), 1}};
  std::map<std::string, Stock> stocks;  // by instance type
  static const Inventory* const kEmpty = new Inventory();
  for (const PlacementRequest& request : requests) {
    const InventoryKey key = {zone, request.instance_type};
    const Inventory* found = state.FindInventory(key);
    const Inventory& inventory = found == nullptr ? *kEmpty : *found;
    Placement placement;
    Spare spare{-1, 1};
    if (OfferOf(state, zone, request.instance_type, request.compute_class) == Offer::kOffered) {
      const auto [stock, created] = stocks.try_emplace(request.instance_type);
      if (created) {
        std::vector<KeptGang> kept = KeptGangs(state, key, keeps_after);
        const int64_t reclaimable = CountReclaimable(
            state, inventory, BlockingAffinities(state, key, kept, keeps_after), keeps_after);
        stock->second = {&inventory, std::move(kept), reclaimable, CountToBeHad(inventory)};
      }
      placement = Take(stock->second, request, spare);
    }
    placement.in_service = inventory.in_service();
    ranked.zone.availability = std::max(ranked.zone.availability, placement.availability);
    ranked.spare = std::min(ranked.spare, spare);
    ranked.zone.placements.push_back(placement);
  }
  return ranked;
}

bool Better(const Ranked& a, const Ranked& b) {
  if (a.zone.availability != b.zone.availability) return a.zone.availability < b.zone.availability;
  if (a.spare < b.spare || b.spare < a.spare) return b.spare < a.spare;
  return a.zone.zone < b.zone.zone;
}

}  // namespace

muster::error::Faults FaultsOf(const State& state, const PlacementQuery& query) {
  muster::error::Faults faults;
  for (size_t i = 0; i < query.requests.size(); ++i) {
    const PlacementRequest& request = query.requests[i];
    const InstanceTypeRow* type = state.FindInstanceType(request.instance_type);
    if (type == nullptr) {
      faults.Add(absl::StrCat("requests[", i, "].instance_type"),
                 absl::StrCat(request.instance_type, " is not in the catalogue."));
    } else if (type->nodes_per_rack > 0 && request.nodes % type->nodes_per_rack != 0) {
      faults.Add(absl::StrCat("requests[", i, "].nodes"),
                 absl::StrCat("must be a multiple of ", type->nodes_per_rack, " for ",
                              request.instance_type, "."));
    }
  }
  for (size_t i = 0; i < query.zones.size(); ++i) {
    if (state.FindZone(query.zones[i]) == nullptr) {
      faults.Add(absl::StrCat("zones[", i, "]"),
                 absl::StrCat(query.zones[i], " is not in the catalogue."));
    }
  }
  return faults;
}

std::vector<ZonePlacements> FindPlacements(const State& state, const PlacementQuery& query,
                                           absl::Time keeps_after) {
  std::vector<Ranked> ranked;
  if (query.zones.empty()) {
    for (const auto& [key, zone] : state.table<ZoneRow>().rows())
      ranked.push_back(Rank(state, zone.row->id, query.requests, keeps_after));
  } else {
    for (const std::string& zone : query.zones)
      ranked.push_back(Rank(state, zone, query.requests, keeps_after));
  }
  std::sort(ranked.begin(), ranked.end(), &Better);
  std::vector<ZonePlacements> zones;
  zones.reserve(ranked.size());
  for (Ranked& one : ranked) zones.push_back(std::move(one.zone));
  return zones;
}

}  // namespace muster::capacity
