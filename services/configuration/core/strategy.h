#pragma once

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/types.h"

namespace muster::configuration {

// Why a pool is looked at again.
enum class Trigger {
  kSpec,      // what the pool's own spec asks its Nodes to boot has changed
  kUpstream,  // anything else: a release, the cluster's Kubernetes version, another strategy
};

// What becomes of a pool's configuration, given what it now resolves to:
//  * nothing fits: `problem`; the active one and what waits stay, nothing is pending;
//  * the answer is the active one, or the one that waits: nothing is pending;
//  * the first answer is always staged: a new pool needs one;
//  * a pinned or a disabled profile is pending, whatever the strategy;
//  * Always: staged. OnSpecUpdate: staged when the spec asked for it, else pending. Manual:
//    pending;
//  * what is staged becomes active at once, or waits while Nodes are in delivery;
//  * what waits gives way to the active one, unless an order names it, and to what the strategy
//    stages; a newer answer takes its place by itself only when an order asked for what was
//    pending;
//  * what waits without an order and is withdrawn gives way to any answer (`waiting_withdrawn`).
// An answer that ends a problem counts as asked for by the spec when the problem held up its
// change. Pins end with the first answer that is neither pinned nor one that the pool has had, but
// while a rollback waits not before it ends; or with one that the spec asks for. `profiles` holds
// every profile of the pool. Pure and idempotent; reads pool.mid_delivery; changes nothing when
// nothing is new.
PoolConfiguration Next(PoolConfiguration pool, const Table<NodeProfile>& profiles,
                       const Resolution& resolution, Trigger trigger, absl::Time now,
                       bool waiting_withdrawn = false);

// Makes what waits the active one, unless Nodes are in delivery; its order is done.
void StageWaiting(PoolConfiguration& pool);

// What waits is dropped. If a rollback waits, the active one is rolled back from no more, and what
// the strategy had made wait before the rollback waits again; if something newer is pending by
// then, Next takes that for what the spec asks for. The caller says what became of the order.
void DropWaiting(PoolConfiguration& pool);

// When the profile was first made for the pool, as far as the pool remembers: it never moves,
// however often the profile is staged, promoted or rolled back to. `now` when the pool does not
// know it.
absl::Time MadeAt(const PoolConfiguration& pool, absl::string_view profile, absl::Time now);

// Null when there is none.
Revision* FindRevision(PoolConfiguration& pool, absl::string_view profile);
const Revision* FindRevision(const PoolConfiguration& pool, absl::string_view profile);
Order* WaitingOrder(PoolConfiguration& pool);
const Order* WaitingOrder(const PoolConfiguration& pool);

bool IsPinned(const PoolConfiguration& pool, absl::string_view profile);
bool IsDisabled(const PoolConfiguration& pool, absl::string_view profile);

// Whether the strategy stages `profile`, which the pool now resolves to and neither boots nor waits
// for.
bool StagedAtOnce(const PoolConfiguration& pool, absl::string_view profile, Trigger trigger);

}  // namespace muster::configuration
