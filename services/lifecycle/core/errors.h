#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The lifecycle domain's own errors; the common ones are in services/common/error.h.
namespace muster::lifecycle::error {

// FAILED_PRECONDITION, ZONE_CHANGED.
absl::Status ZoneChanged(absl::string_view cluster);
// FAILED_PRECONDITION, POOL_DELETING.
absl::Status PoolDeleting(absl::string_view pool);
// FAILED_PRECONDITION, UID_MISMATCH: another pool has the uid, or the pool has another uid.
absl::Status UidMismatch(absl::string_view pool, absl::string_view given);
// FAILED_PRECONDITION, NODE_STATE.
absl::Status DoesNotFit(absl::string_view node, absl::string_view state, absl::string_view what);
// ABORTED, PLAN_OUTDATED: the pool moved on since the plan was made.
absl::Status PlanOutdated(absl::string_view pool, int64_t planned, int64_t current);
// ABORTED, STALE_LEADER: another replica reconciles now.
absl::Status StaleLeader(int64_t given, int64_t current);

}  // namespace muster::lifecycle::error
