#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "services/quota/core/rows.h"

// Which limit is in force when.
//
// A row tells the limit that was in force at its update_time. At every later moment at which that
// changes the row is written again (ApplyOverrides in decide.h), so that whoever follows the rows
// is told. Decisions do not wait for that: they look at LimitAt(quota, now).
namespace muster::quota {

int64_t LimitAt(const Quota& quota, absl::Time at);

// What the row says is in force: LimitAt its update_time.
int64_t LimitInForce(const Quota& quota);

// The first moment after update_time at which an override comes into force or lapses;
// InfiniteFuture: none does.
absl::Time NextChange(const Quota& quota);

// Takes out what has lapsed at `now`.
void DropLapsed(Quota& quota, absl::Time now);

}  // namespace muster::quota
