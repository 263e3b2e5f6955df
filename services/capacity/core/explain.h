#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/capacity/core/state.h"

namespace muster::capacity {

// Why a claim has not got all that it wants: see ClaimObstacle in the proto. In the order in which
// they are told: what must be mended first comes first.
enum class ObstacleCode {
  kUnknownInstanceType,
  kNotInZone,
  kSpotNotOffered,
  kNoneInService,
  kAffinityMatchesNone,
  kAffinityMatchesFewer,
  kFewerInService,
  kQueuedBehind,
  kGangIncomplete,
  kKeptForGang,
  kNoWholeRack,
  kBeingReclaimed,
  kHeldByOthers,
  kInRepair
};

struct Obstacle {
  ObstacleCode code = ObstacleCode::kUnknownInstanceType;
  int64_t nodes = 0;
  int64_t claims = 0;
  std::string message = {};  // one sentence
  // With kBeingReclaimed: the oldest kMaxReclaimsTold, and when the last one of all began.
  std::vector<Reclaimed> reclaims = {};
  absl::Time last_reclaim = absl::InfinitePast();
  bool operator==(const Obstacle&) const = default;
};

inline constexpr int64_t kMaxReclaimsTold = 100;

// All that stands in the claim's way, in the order of the codes. Empty exactly when nothing is
// outstanding and the zone offers the type. Meant for people: costs O(requests ahead in the queue),
// and for each label class O(holders), or O(racks) for a type that is granted in whole racks. Gangs
// that asked at `keeps_after` or before keep nothing from default claims any more (serve.h).
std::vector<Obstacle> Explain(const State& state, const ClaimRow& claim,
                              absl::Time keeps_after = absl::InfinitePast());

}  // namespace muster::capacity
