#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "services/musterctl/top/fleet.h"
#include "services/musterctl/top/line.h"
#include "services/musterctl/top/section.h"
#include "services/musterctl/top/trouble.h"
#include "services/page/core/cell.h"

namespace muster::musterctl::top {

// The letter of a machine's state on the map: states can be told apart without colour.
char LetterOf(page::CellState state);
Style StyleOf(page::CellState state);

// The number of machines in each state; the index is the state's number.
using StateCounts = std::array<size_t, std::size(page::kAllCellStates)>;
StateCounts CountStates(const Fleet& fleet, const Filter& filter);

// The fleet, zone > type > rack, `width` wide. One character a machine; or one a rack, for the
// share of its machines that are in use.
Section MapOfMachines(const Fleet& fleet, const Filter& filter, size_t width);
Section MapOfRacks(const Fleet& fleet, const Filter& filter, size_t width);

}  // namespace muster::musterctl::top
