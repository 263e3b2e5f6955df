#pragma once

#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/state.h"
#include "services/lifecycle/core/validate.h"

// Which commands are refused, in two halves. Validate takes as long as the command is large and is
// called before the lane, by whoever parses the request; ValidateIn is called by Decide, on the
// lane's one thread.
namespace muster::lifecycle {

// Adds the faults of its fields that do not depend on the state. The name need not be well-formed.
void Validate(const UpdateCluster& command, Faults& faults);
void Validate(const BindCluster& command, Faults& faults);
void Validate(const AllowRemovals& command, Faults& faults);
void Validate(const ApplyNodePool& command, Faults& faults);
void Validate(const ResizeNodePool& command, Faults& faults);
void Validate(const ReconfigureNodePool& command, Faults& faults);

// Adds the faults of its fields in this state.
void ValidateIn(const State& state, const ApplyNodePool& command, Faults& faults);
void ValidateIn(const State& state, const ResizeNodePool& command, Faults& faults);

// The update as an ApplyNodePool of the whole spec that it results in for this pool.
ApplyNodePool WholeOf(const Pool& pool, const UpdateNodePool& command);

// The pool's target after the command; nullopt: the command says neither a target nor machines.
// Every machine that it names must be a Node of the pool.
std::optional<int64_t> TargetOf(const State& state, const Pool& pool,
                                const ResizeNodePool& command);

}  // namespace muster::lifecycle
