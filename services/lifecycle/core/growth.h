#pragma once

#include <cstdint>
#include <optional>

#include "services/lifecycle/core/commands.h"
#include "services/lifecycle/core/state.h"

// What quota is to be asked before a mutation that makes a pool larger.
namespace muster::lifecycle {

// The pool as it will be, and for how many Nodes it will be charged: more than it is now.
struct Growth {
  Pool pool = {};
  int64_t charge = 0;
};

// nullopt: its target does not rise, it is charged for as many already, or it will be refused anyway. The command is valid as far as
// Validate says (validate_command.h); of an update that is looked at here.
std::optional<Growth> GrowthBy(const State& state, const ApplyNodePool& command);
std::optional<Growth> GrowthBy(const State& state, const UpdateNodePool& command);
std::optional<Growth> GrowthBy(const State& state, const ResizeNodePool& command);

// Of a mutation that was decided, by the same rule: of the pool before it (null: there was none) and after it, which has so many Nodes.
std::optional<Growth> GrowthBetween(const Pool* before, Pool after, int64_t nodes);

}  // namespace muster::lifecycle
