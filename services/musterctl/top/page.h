#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/musterctl/top/fleet.h"
#include "services/musterctl/top/line.h"
#include "services/musterctl/top/view.h"
#include "services/page/core/source.h"

namespace muster::musterctl::top {

// If there are more machines, the map shows one character per rack, however much room there is.
inline constexpr size_t kMostMachines = 5'000;
// Most rows of a section on a page of unlimited height.
inline constexpr size_t kMostRows = 100;

// The page, top down: header, map, quotas, queue, pools that are not where they should be. At most
// `height` lines of any width.
std::vector<Line> Render(const Fleet& fleet, const View& view);

// The watches that are not live. Those with the same error are joined into one, with all their
// names and the longest time.
std::vector<page::WatchHealth> Silent(const std::vector<page::WatchHealth>& watches);

// Lines as they are written, each cut to `width` and ended by `end`.
std::string Print(const std::vector<Line>& lines, size_t width, bool colour, absl::string_view end);

}  // namespace muster::musterctl::top
