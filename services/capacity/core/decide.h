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

// All or nothing. FAILED_PRECONDITION (UNKNOWN_ZONE, UNKNOWN_INSTANCE_TYPE, MACHINE_MOVED). The
// rows in the order of the command.
absl::StatusOr<std::vector<MachineRow>> Decide(StagedState<State>& staged,
                                               const RegisterMachines& command, absl::Time now,
                                               const Policy& policy = {});

// NOT_FOUND; FAILED_PRECONDITION (MACHINE_HELD, MACHINE_RETIRED). The row as it is at the end: a
// machine that was freed may be held again already.
absl::StatusOr<MachineRow> Decide(StagedState<State>& staged, const SetMachineState& command,
                                  absl::Time now, const Policy& policy = {});

// NOT_FOUND; FAILED_PRECONDITION (ZONE_IN_USE, INSTANCE_TYPE_IN_USE, MACHINE_NOT_RETIRED).
absl::Status Decide(StagedState<State>& staged, const DeleteZone& command, absl::Time now);
absl::Status Decide(StagedState<State>& staged, const DeleteInstanceType& command, absl::Time now);
absl::Status Decide(StagedState<State>& staged, const DeleteMachine& command, absl::Time now);

// ABORTED (GENERATION_TOO_OLD); INVALID_ARGUMENT (GENERATION_OUT_OF_RANGE); FAILED_PRECONDITION
// (CLAIM_CHANGED, CLAIM_HOLDS_MACHINES, GENERATION_REUSED, POOL_RELEASED). A release leaves the
// pool's uid behind, of a claim that is not there too: all but a release is refused for it from
// then on.
absl::StatusOr<ClaimView> Decide(StagedState<State>& staged, const SyncClaim& command,
                                 absl::Time now, const Policy& policy = {});

// Each is accepted or refused on its own, in their order; together they are one decision: the queue
// is served once, after the last, and a request has its place before those that follow it
// (kAskedApart). Every answer shows the state after that.
std::vector<absl::StatusOr<ClaimView>> Decide(StagedState<State>& staged, const SyncClaims& command,
                                              absl::Time now, const Policy& policy = {});

// Serves those behind gangs that keep nothing any more. Returns how many rows changed; the same
// again changes none.
size_t Decide(StagedState<State>& staged, const EndKeeps& command, absl::Time now,
              const Policy& policy = {});
// When a gang that waits keeps nothing any more for the first time after `after`; InfiniteFuture:
// never. With a policy that keeps nothing: when one asked, after InfinitePast alone. Costs O(lines).
absl::Time NextKeepEnd(const State& state, const Policy& policy, absl::Time after);

// What SyncClaims decides, with kNewestGeneration for a claim that is to be newer than any. Leaves
// its changes on the staged state, where the answers are read: the caller takes them back.
std::vector<absl::StatusOr<ClaimView>> Check(StagedState<State>& staged, SyncClaims command,
                                             absl::Time now, const Policy& policy = {});

}  // namespace muster::capacity
