#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "services/common/pieces.h"
#include "services/quota/core/state.h"

// What all organizations may hold and hold, counted for the metrics.
namespace muster::quota {

// What a limit is for, without its organization.
struct CensusKey {
  std::string zone = {};
  std::string instance_type = {};
  ComputeClass compute_class = ComputeClass::kDefault;
  auto operator<=>(const CensusKey&) const = default;
};

struct KeyCount {
  int64_t limit = 0;     // Nodes that may be held, in force
  int64_t held = 0;      // Nodes held, whether there is a limit or not
  int64_t over = 0;      // of these: beyond the limit of their organization
  int64_t full = 0;      // quotas under which nothing more can be held
  int64_t overruns = 0;  // of these: under which more is held than may be
  bool operator==(const KeyCount&) const = default;
};

struct OrganizationCount {
  std::string organization = {};
  int64_t limit = 0;
  int64_t held = 0;
  bool operator==(const OrganizationCount&) const = default;
};

// Rows are put in one by one: all quotas, then all holdings.
struct Census {
  absl::btree_map<CensusKey, KeyCount> keys = {};
  absl::btree_map<std::string, OrganizationCount> organizations = {};

  // `held`: State::Held of the row.
  void Add(const Quota& quota, int64_t held, absl::Time now);
  // Leaves out a holding whose quota's name is not valid. A key without a quota is counted under
  // the type `other`, in the zone `other` if no quota is for the zone: pools may name anything.
  void Add(const Holding& holding, bool has_quota);
};

// Counts all rows in a lane's memory, a piece at a time (services/common/pieces.h).
template <class Lane>
Census CensusOf(const Lane& lane, absl::Time now) {
  Census census;
  ForAllInPieces<Quota>(lane, [&](const State& state, absl::string_view name, const Quota& quota) {
    census.Add(quota, state.Held(name), now);
  });
  ForAllInPieces<Holding>(lane, [&](const State& state, absl::string_view, const Holding& holding) {
    census.Add(holding, state.table<Quota>().Find(holding.quota) != nullptr);
  });
  return census;
}

// The `most` organizations that hold most, in order of name, then all others summed up under the
// name `other`, if there are any (an organization called `other` is one of them). 0: nothing at
// all.
std::vector<OrganizationCount> Largest(const Census& census, size_t most);

}  // namespace muster::quota
