#pragma once

#include <cstdint>
#include <optional>

#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/state.h"

// What quota is to be asked before a mutation that makes a pool larger.
namespace muster::lifecycle {

// The pool as it will be, and for how many Nodes it will then be charged: more than it is granted
// now.
struct Growth {
  Pool pool = {};
  int64_t charge = 0;
};

// What the command asks of quota; nullopt: the pool's target does not rise, as many are granted to
// it already, or the command will be refused anyway. Apply and resize must have passed Validate
// (validate_command.h); the spec that an update results in is validated here.
std::optional<Growth> GrowthBy(const State& state, const ApplyNodePool& command);
std::optional<Growth> GrowthBy(const State& state, const UpdateNodePool& command);
std::optional<Growth> GrowthBy(const State& state, const ResizeNodePool& command);

// Likewise for a mutation that was decided: `before` (null: there was no pool) and `after` are the
// pool's rows, `nodes` is how many Nodes it has.
std::optional<Growth> GrowthBetween(const Pool* before, Pool after, int64_t nodes);

}  // namespace muster::lifecycle
