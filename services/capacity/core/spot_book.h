#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/capacity/core/label_classes.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// The machines that a spot claim holds.
struct SpotHolding {
  int64_t held = 0;  // those being reclaimed included
  int64_t reclaiming = 0;
  absl::btree_set<HeldMachine> reclaimable = {};  // the others
  bool operator==(const SpotHolding&) const = default;
};

// Whose machine is reclaimed next. Fairly spread: first stands the claim for which (machines being
// reclaimed + 1) / (machines held, those included) is least; then the one with fewest being
// reclaimed, then the one whose newest machine is newest, then by uid.
struct SpotRank {
  int64_t held = 0;
  int64_t reclaiming = 0;
  absl::Time newest = absl::UnixEpoch();
  std::string pool_uid = {};
  bool operator==(const SpotRank&) const = default;
  bool operator<(const SpotRank& other) const {
    const int64_t share = (reclaiming + 1) * other.held;
    const int64_t others = (other.reclaiming + 1) * held;
    return std::tie(share, reclaiming, other.newest, pool_uid) <
           std::tie(others, other.reclaiming, newest, other.pool_uid);
  }
};

// A machine that is being reclaimed, oldest reclaim first.
struct Reclaimed {
  absl::Time time = absl::UnixEpoch();
  std::string machine = {};
  bool operator==(const Reclaimed&) const = default;
  bool operator<(const Reclaimed& other) const {
    return std::tie(time, machine) < std::tie(other.time, other.machine);
  }
};
using Reclaims = absl::btree_set<Reclaimed>;

// The spot machines of one inventory: who holds them, and for whom they are being reclaimed.
class SpotBook {
 public:
  void Add(const MachineRow& machine, int64_t by);
  const absl::btree_map<std::string, SpotHolding>& holdings() const { return holdings_; }
  // Claims that have machines which are not being reclaimed yet.
  const absl::btree_set<SpotRank>& ranks() const { return ranks_; }
  // That of one of them.
  SpotRank RankOf(const std::string& pool_uid) const;
  // Machines being reclaimed, by the claim that they are forecast for; "": none.
  const absl::btree_map<std::string, Reclaims>& reclaims() const { return reclaims_; }
  // Empty: none.
  const Reclaims& ReclaimsFor(absl::string_view pool_uid) const;
  int64_t CoveredFor(absl::string_view pool_uid) const {
    return static_cast<int64_t>(ReclaimsFor(pool_uid).size());
  }

  bool operator==(const SpotBook&) const = default;

 private:
  void AddReclaim(const MachineRow& machine, int64_t by);

  absl::btree_map<std::string, SpotHolding> holdings_;
  absl::btree_set<SpotRank> ranks_;
  absl::btree_map<std::string, Reclaims> reclaims_;
};

}  // namespace muster::capacity
