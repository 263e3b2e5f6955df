#pragma once

#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/kept_request.h"
#include "services/lifecycle/core/books_memory.h"
#include "services/lifecycle/core/limits.h"
#include "storage/postgres/lane.h"

namespace muster::lifecycle {

// Of what belongs to no pool.
struct OrphanOptions {
  absl::Duration interval = absl::Minutes(5);  // of the rounds
  OrphanPolicy policy = {};
  absl::Duration event_keep = absl::Hours(24);  // events of deleted pools, from when seen last
  int64_t event_most = kMaxGoneEvents;          // likewise, of all of them
};

// What lifecycle is told; passed whole to its parts. All but the first two are flags of the server,
// which checks them (services/musterd/options.h).
struct Options {
  storage::LaneOptions lane = {};  // connect.schema is `lifecycle`
  const Clock* clock = nullptr;    // null: the database's; outlives the service
  // A pool that nothing happened to is looked at so often.
  absl::Duration resync_interval = absl::Minutes(10);
  absl::Duration lease_ttl = absl::Seconds(5);
  absl::Duration ask_timeout = absl::Seconds(5);  // for an answer of another service; no flag
  Policy policy = {};
  OrphanOptions orphans = {};
  OrganizationLimits organizations = {};
  KeepPolicy request_keep = {};  // keep: at least kMinRequestKeep
};

}  // namespace muster::lifecycle
