#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The lifecycle domain's own errors; the common ones are in services/common/error.h.
namespace muster::lifecycle::error {

// FAILED_PRECONDITION, ZONE_CHANGED.
absl::Status ZoneChanged(absl::string_view cluster);
// RESOURCE_EXHAUSTED, TOO_MANY_POOLS, TOO_MANY_CLUSTERS: the organization has as many as it may
// have.
absl::Status TooManyPools(absl::string_view organization, int64_t most);
absl::Status TooManyClusters(absl::string_view organization, int64_t most);
// FAILED_PRECONDITION, CLUSTER_BOUND. `bound`: the uid of the Kubernetes that it is bound to;
// empty: none.
absl::Status ClusterBound(absl::string_view cluster, absl::string_view bound,
                          absl::string_view given);
// FAILED_PRECONDITION, CLUSTER_BOUND: the Kubernetes is the cluster `other` already, which is named
// within the organization only.
absl::Status KubernetesTaken(absl::string_view cluster, absl::string_view other,
                             absl::string_view given);
// FAILED_PRECONDITION, CLUSTER_HAS_POOLS: the cluster is not bound yet and has pools, so that only
// `adopt` may bind it.
absl::Status ClusterHasPools(absl::string_view cluster, absl::string_view given);
// FAILED_PRECONDITION, CLUSTER_IN_USE. `pools`: ids of some that it has.
absl::Status ClusterInUse(absl::string_view cluster, absl::Span<const absl::string_view> pools);
// FAILED_PRECONDITION, FAILED_PRECONDITION: removals were to be taken off an order that has ended.
absl::Status AllowanceEnded(absl::string_view cluster);
// FAILED_PRECONDITION, POOL_DELETING.
absl::Status PoolDeleting(absl::string_view pool);
// FAILED_PRECONDITION, UID_MISMATCH: the pool has another uid than the caller says, or another pool
// has it.
absl::Status UidMismatch(absl::string_view pool, absl::string_view given, absl::string_view has);
absl::Status UidTaken(absl::string_view pool, absl::string_view given);
// FAILED_PRECONDITION, NODE_PROTECTED.
absl::Status NodeProtected(absl::string_view node, absl::string_view until);
// FAILED_PRECONDITION, RECONFIGURATION_RUNNING: one at a time a pool.
absl::Status ReconfigurationRunning(absl::string_view pool);
// FAILED_PRECONDITION, NO_RECONFIGURATION: none is running, paused or halted.
absl::Status NoReconfiguration(absl::string_view pool);
// FAILED_PRECONDITION, CONFIGURATION_DISABLED: no Node may boot into the active configuration.
absl::Status ConfigurationDisabled(absl::string_view pool, absl::string_view profile);
// FAILED_PRECONDITION, NODE_STATE.
absl::Status DoesNotFit(absl::string_view node, absl::string_view state, absl::string_view what);
// ABORTED, PLAN_OUTDATED: the pool moved on since the plan was made.
absl::Status PlanOutdated(absl::string_view pool, int64_t planned, int64_t current);
// ABORTED, PLAN_OUTDATED: a plan assigns a machine that is a Node of another pool.
absl::Status MachineTaken(absl::string_view pool, absl::string_view machine);
// ABORTED, STALE_LEADER: another replica reconciles now.
absl::Status StaleLeader(int64_t given, int64_t current);

}  // namespace muster::lifecycle::error
