#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/capacity/core/state.h"
#include "services/common/faults.h"

// The capacity finder: where could Nodes be had now? The meaning of every field stands in
// muster/capacity/v1/capacity_service.proto.
namespace muster::capacity {

struct PlacementRequest {
  std::string instance_type = {};
  int64_t nodes = 0;
  ComputeClass compute_class = ComputeClass::kDefault;
};

struct PlacementQuery {
  std::vector<PlacementRequest> requests = {};
  std::vector<std::string> zones = {};  // empty: all
};

// Best first.
enum class Availability { kLikely, kPossibly, kLimited, kNotAvailable, kSkuUnavailable };

struct Placement {
  int64_t free = 0;
  int64_t reclaimable = 0;
  int64_t queue_ahead = 0;
  int64_t in_service = 0;
  Availability availability = Availability::kSkuUnavailable;
  bool operator==(const Placement&) const = default;
};

struct ZonePlacements {
  std::string zone = {};
  Availability availability = Availability::kLikely;
  std::vector<Placement> placements = {};  // in the order of the requests
  bool operator==(const ZonePlacements&) const = default;
};

// What is wrong with a query that passed Validate, in this state: zones and types that are unknown,
// Nodes that are no whole racks.
muster::error::Faults FaultsOf(const State& state, const PlacementQuery& query);

// Every zone asked for, best first: by availability, then by what is left over relative to what is
// asked for (of the request for which it is least), then by name. The query must be free of faults.
// Costs O(zones × requests × (log + lines of the queue)), and what is known of gangs (gang.h); of
// machines only those are looked at that are being reclaimed. `keeps_after`: see Explain.
std::vector<ZonePlacements> FindPlacements(const State& state, const PlacementQuery& query,
                                           absl::Time keeps_after = absl::InfinitePast());

}  // namespace muster::capacity
