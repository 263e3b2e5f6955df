#pragma once

#include "absl/time/time.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/types.h"

namespace muster::configuration {

// Why a pool is looked at again.
enum class Trigger {
  kSpec,      // what the pool's own spec asks its Nodes to boot has changed
  kUpstream,  // anything else: a release, the cluster's Kubernetes version, another strategy
};

// What becomes of a pool's configuration, given what it now resolves to (semantics.md 7):
//  * nothing fits: `problem`; the active one stays, nothing waits;
//  * the answer is the active one: nothing waits;
//  * the first answer is always staged: a new pool needs one;
//  * Always: staged. OnSpecUpdate: staged when the spec asked for it, else pending. Manual:
//  pending.
// An answer that ends a problem counts as asked for by the spec, whose change it held up.
// `active`: the profile of pool.active(), null when there is none. Pure; changes pending, revisions
// and problem only, and nothing when nothing is new.
PoolConfiguration Next(PoolConfiguration pool, const NodeProfile* active,
                       const Resolution& resolution, Trigger trigger, absl::Time now);

}  // namespace muster::configuration
