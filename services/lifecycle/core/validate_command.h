#pragma once

#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/state.h"
#include "services/lifecycle/core/validate.h"

// What is refused of a command, in two halves. The first takes as long as the command is large, and
// is done before the lane, by whoever parses the request; Decide, on the lane's one thread, does
// the second alone.
namespace muster::lifecycle {

// Adds what is wrong with its fields whatever the state is. The name need not be well-formed.
void Validate(const UpdateCluster& command, Faults& faults);
void Validate(const BindCluster& command, Faults& faults);
void Validate(const AllowRemovals& command, Faults& faults);
void Validate(const ApplyNodePool& command, Faults& faults);
void Validate(const ResizeNodePool& command, Faults& faults);
void Validate(const ReconfigureNodePool& command, Faults& faults);

// Adds what is wrong with its fields in this state.
void ValidateIn(const State& state, const ApplyNodePool& command, Faults& faults);
void ValidateIn(const State& state, const ResizeNodePool& command, Faults& faults);

// What an update comes to: the whole spec, as if it were applied to this pool.
ApplyNodePool WholeOf(const Pool& pool, const UpdateNodePool& command);

// How many Nodes are wanted after it; nullopt: it does not say. A machine that is named is a Node
// of the pool.
std::optional<int64_t> TargetOf(const State& state, const Pool& pool,
                                const ResizeNodePool& command);

}  // namespace muster::lifecycle
