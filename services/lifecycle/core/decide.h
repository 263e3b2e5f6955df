#pragma once

#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/state.h"

// Carries out the commands (commands.h). Each Decide is pure apart from the staged state; a refused
// one leaves nothing behind. What is wrong in any state is not looked for here.
namespace muster::lifecycle {

// ZONE_CHANGED, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const UpdateCluster& command, absl::Time now);
// NOT_FOUND, CLUSTER_IN_USE, ETAG_MISMATCH. Without a cluster the outcome has none.
StatusOrOutcome Decide(StagedState<State>& staged, const DeleteCluster& command, absl::Time now);
// NOT_FOUND, CLUSTER_BOUND, CLUSTER_HAS_POOLS, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const BindCluster& command, absl::Time now);
// NOT_FOUND, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const AllowRemovals& command, absl::Time now);
// INVALID_FIELD, NOT_FOUND (cluster), POOL_DELETING, UID_MISMATCH, ETAG_MISMATCH,
// GENERATION_TOO_OLD. A higher object_generation is kept, also where the spec is the same: the
// pool's own generation then stays. Of a pool that is being deleted too, because Kubernetes counts
// a deletion as a generation: the same spec of an object is taken there, all else is POOL_DELETING.
StatusOrOutcome Decide(StagedState<State>& staged, const ApplyNodePool& command, absl::Time now);
// NOT_FOUND, and as ApplyNodePool of the spec that comes of it.
StatusOrOutcome Decide(StagedState<State>& staged, const UpdateNodePool& command, absl::Time now);
// INVALID_FIELD, NOT_FOUND, POOL_DELETING, NODE_PROTECTED, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const ResizeNodePool& command, absl::Time now);
// NOT_FOUND (pool or Node), POOL_DELETING, RECONFIGURATION_RUNNING,
// CONFIGURATION_DISABLED, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const ReconfigureNodePool& command,
                       absl::Time now);
// NOT_FOUND, NO_RECONFIGURATION, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const ControlReconfiguration& command,
                       absl::Time now);
// NOT_FOUND, ETAG_MISMATCH.
StatusOrOutcome Decide(StagedState<State>& staged, const UpdateNode& command, absl::Time now);
// NOT_FOUND, ETAG_MISMATCH, NODE_STATE, POOL_DELETING.
StatusOrOutcome Decide(StagedState<State>& staged, const OrderNode& command, absl::Time now);
// NOT_FOUND, ETAG_MISMATCH. Without a pool the outcome has none.
StatusOrOutcome Decide(StagedState<State>& staged, const DeleteNodePool& command, absl::Time now);
// NOT_FOUND, NODE_STATE.
StatusOrOutcome Decide(StagedState<State>& staged, const ReportNode& command, absl::Time now);
// PLAN_OUTDATED, STALE_LEADER, NODE_STATE.
StatusOrOutcome Decide(StagedState<State>& staged, const ApplyPlan& command, absl::Time now);
// STALE_LEADER.
StatusOrOutcome Decide(StagedState<State>& staged, const TakeLease& command, absl::Time now);
// Never fails.
StatusOrOutcome Decide(StagedState<State>& staged, const ExpireEvents& command, absl::Time now);

}  // namespace muster::lifecycle
