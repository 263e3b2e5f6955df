#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::layers {

// Parts that include each other, directly or by others, each loop and all loops in order. A part is
// a header with its source (`x.h`, `x_inl.h`, `x.cc`), by its path without the ending. `includes`:
// by file, from the top of the tree; what is no file of it counts for nothing.
std::vector<std::vector<std::string>> IncludeLoops(
    const std::map<std::string, std::vector<std::string>>& includes);

}  // namespace muster::layers
