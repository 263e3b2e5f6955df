#pragma once

#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/state.h"

// Carries out the commands (commands.h). Each Decide is pure apart from the staged state; a refused
// one leaves nothing behind. Faults that do not depend on the state are not looked for here
// (validate_command.h). Above each Decide: the reasons of the errors that it returns.
namespace muster::lifecycle {

// ZONE_CHANGED, TOO_MANY_CLUSTERS, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const UpdateCluster& command, absl::Time now);
// NOT_FOUND, CLUSTER_IN_USE, ETAG_MISMATCH. The outcome names no cluster.
StatusOrOutcome Decide(StagedState<State>& staged, const DeleteCluster& command, absl::Time now);
// NOT_FOUND, CLUSTER_BOUND, CLUSTER_HAS_POOLS, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const BindCluster& command, absl::Time now);
// NOT_FOUND, FAILED_PRECONDITION (the order that it lowers has ended), ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const AllowRemovals& command, absl::Time now);
// INVALID_FIELD, NOT_FOUND (cluster), POOL_DELETING, UID_MISMATCH, TOO_MANY_POOLS, ETAG_MISMATCH,
// GENERATION_TOO_OLD. A higher object_generation is kept even if the spec is the same; the pool's
// own generation then stays. While a pool is being deleted, only the same spec of a Kubernetes
// object is taken, because Kubernetes counts a deletion as a generation; all else is POOL_DELETING.
StatusOrOutcome Decide(StagedState<State>& staged, const ApplyNodePool& command, absl::Time now);
// NOT_FOUND, and the errors of ApplyNodePool for the whole spec that results.
StatusOrOutcome Decide(StagedState<State>& staged, const UpdateNodePool& command, absl::Time now);
// INVALID_FIELD, NOT_FOUND, POOL_DELETING, NODE_PROTECTED, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const ResizeNodePool& command, absl::Time now);
// NOT_FOUND (pool or Node), POOL_DELETING, RECONFIGURATION_RUNNING,
// CONFIGURATION_DISABLED, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const ReconfigureNodePool& command,
                       absl::Time now);
// NOT_FOUND, NO_RECONFIGURATION, CONFIGURATION_DISABLED (kResume), ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const ControlReconfiguration& command,
                       absl::Time now);
// NOT_FOUND, ETAG_MISMATCH, NODE_STATE.
StatusOrOutcome Decide(StagedState<State>& staged, const UpdateNode& command, absl::Time now);
// NOT_FOUND, ETAG_MISMATCH, NODE_STATE, POOL_DELETING.
StatusOrOutcome Decide(StagedState<State>& staged, const OrderNode& command, absl::Time now);
// NOT_FOUND, ETAG_MISMATCH. With allow_missing and no such pool, the outcome names none.
StatusOrOutcome Decide(StagedState<State>& staged, const DeleteNodePool& command, absl::Time now);
// NOT_FOUND, NODE_STATE, INVALID_FIELD (an observation of a newer release).
StatusOrOutcome Decide(StagedState<State>& staged, const ReportNode& command, absl::Time now);
// PLAN_OUTDATED, STALE_LEADER, NODE_STATE, NOT_FOUND (a Node of an action).
StatusOrOutcome Decide(StagedState<State>& staged, const ApplyPlan& command, absl::Time now);
// STALE_LEADER.
StatusOrOutcome Decide(StagedState<State>& staged, const TakeLease& command, absl::Time now);
// Never fails.
StatusOrOutcome Decide(StagedState<State>& staged, const ExpireEvents& command, absl::Time now);

}  // namespace muster::lifecycle
