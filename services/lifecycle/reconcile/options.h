#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "services/lifecycle/core/books_memory.h"
#include "services/lifecycle/core/limits.h"

namespace muster::lifecycle {

// Options of the reconcile loop. All but `ask_timeout` and `most_raised` are flags of the server,
// which checks them (services/musterd/options.h).
struct LoopOptions {
  // A pool that nothing happens to is looked at after this at the latest.
  absl::Duration resync_interval = absl::Minutes(10);
  absl::Duration lease_ttl = absl::Seconds(5);
  absl::Duration ask_timeout = absl::Seconds(5);  // for an answer of another service
  Policy policy = {};
  size_t most_raised = kMaxRaisedPools;  // pools that one command of a takeover raises
};

// Options of the collection of what belongs to no pool. Flags, likewise.
struct OrphanOptions {
  absl::Duration interval = absl::Minutes(5);  // of the rounds
  OrphanPolicy policy = {};
  absl::Duration event_keep = absl::Hours(24);  // for events of deleted pools, since last seen
  int64_t event_most = kMaxGoneEvents;          // events of deleted pools that are kept, in all
};

}  // namespace muster::lifecycle
