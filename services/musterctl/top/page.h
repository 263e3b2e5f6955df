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

// More machines are shown a character a rack, however much room there is.
inline constexpr size_t kMostMachines = 5'000;
// Rows of a section on a page without an end; also pools that somebody is asked about at a time.
inline constexpr size_t kMostRows = 100;

// The page, top down: header, map, quotas, queue, pools that are not where they should be. At most
// `height` lines of any width.
std::vector<Line> Render(const Fleet& fleet, const View& view);

// The watches that bring no news, those with the same error as one: their names, the longest time.
std::vector<page::WatchHealth> Silent(const std::vector<page::WatchHealth>& watches);

// Lines as they are written, each cut to `width` and ended by `end`.
std::string Print(const std::vector<Line>& lines, size_t width, bool colour, absl::string_view end);

}  // namespace muster::musterctl::top
