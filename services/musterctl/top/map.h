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

// How a machine's state reads on the map, without colour too.
char LetterOf(page::CellState state);
Style StyleOf(page::CellState state);

// How many machines are in each state, by its number.
using StateCounts = std::array<size_t, std::size(page::kAllCellStates)>;
StateCounts CountStates(const Fleet& fleet, const Filter& filter);

// The fleet, zone > type > rack, `width` wide. One character a machine; or one a rack, for the
// share of its machines that are in use.
Section MapOfMachines(const Fleet& fleet, const Filter& filter, size_t width);
Section MapOfRacks(const Fleet& fleet, const Filter& filter, size_t width);

}  // namespace muster::musterctl::top
