#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/capacity/core/commands.h"
#include "services/capacity/core/policy.h"
#include "services/capacity/core/state.h"
#include "services/capacity/core/view.h"

// What the capacity service does with a command, which must have passed Validate. Pure: all is
// read from the staged state and written to it; refused commands leave nothing behind.
// Whatever frees a machine serves the queue at once.
namespace muster::capacity {

ZoneRow Decide(StagedState<State>& staged, const UpdateZone& command, absl::Time now,
               const Policy& policy = {});
InstanceTypeRow Decide(StagedState<State>& staged, const UpdateInstanceType& command,
                       absl::Time now, const Policy& policy = {});

// All or nothing. FAILED_PRECONDITION (UNKNOWN_ZONE, UNKNOWN_INSTANCE_TYPE, MACHINE_MOVED). Returns
// the rows, in the order of the command.
absl::StatusOr<std::vector<MachineRow>> Decide(StagedState<State>& staged,
                                               const RegisterMachines& command, absl::Time now,
                                               const Policy& policy = {});

// NOT_FOUND; FAILED_PRECONDITION (MACHINE_HELD, MACHINE_RETIRED). Returns the row as it is at the
// end: a machine that was freed may be held again already.
absl::StatusOr<MachineRow> Decide(StagedState<State>& staged, const SetMachineState& command,
                                  absl::Time now, const Policy& policy = {});

// NOT_FOUND; FAILED_PRECONDITION (ZONE_IN_USE, INSTANCE_TYPE_IN_USE, MACHINE_NOT_RETIRED).
absl::Status Decide(StagedState<State>& staged, const DeleteZone& command, absl::Time now);
absl::Status Decide(StagedState<State>& staged, const DeleteInstanceType& command, absl::Time now);
absl::Status Decide(StagedState<State>& staged, const DeleteMachine& command, absl::Time now);

// ABORTED (GENERATION_TOO_OLD); INVALID_ARGUMENT (GENERATION_OUT_OF_RANGE); FAILED_PRECONDITION
// (CLAIM_CHANGED, CLAIM_HOLDS_MACHINES, GENERATION_REUSED, POOL_RELEASED). A release is remembered
// by the pool's uid, even if there is no claim: from then on all requests for that uid but releases
// are refused.
absl::StatusOr<ClaimView> Decide(StagedState<State>& staged, const SyncClaim& command,
                                 absl::Time now, const Policy& policy = {});

// Accepts or refuses each request on its own, in their order, in one decision: the queue is served
// once, after the last request, and each request stands in it before those that follow
// (kAskedApart). Every answer shows the state after the queue was served.
std::vector<absl::StatusOr<ClaimView>> Decide(StagedState<State>& staged, const SyncClaims& command,
                                              absl::Time now, const Policy& policy = {});

// Serves those behind gangs whose time to keep machines is over. Returns how many rows changed;
// deciding the same again changes none.
size_t Decide(StagedState<State>& staged, const EndKeeps& command, absl::Time now,
              const Policy& policy = {});
// The first time after `after` at which a waiting gang's time to keep machines ends;
// InfiniteFuture: there is none. Under a policy that keeps nothing it ends when the gang asks, and
// only `after` = InfinitePast finds it: what an earlier policy kept is given away once. Costs
// O(lines).
absl::Time NextKeepEnd(const State& state, const Policy& policy, absl::Time after);

// What SyncClaims would answer; a generation of kNewestGeneration is newer than any. Leaves its
// changes on the staged state, from which the answers are completed: the caller takes them back.
std::vector<absl::StatusOr<ClaimView>> Check(StagedState<State>& staged, SyncClaims command,
                                             absl::Time now, const Policy& policy = {});

}  // namespace muster::capacity
