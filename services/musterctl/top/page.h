#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/musterctl/top/fleet.h"
#include "services/musterctl/top/line.h"
#include "services/musterctl/top/trouble.h"
#include "services/page/core/source.h"

namespace muster::musterctl::top {

// More machines are shown a character a rack, however much room there is.
inline constexpr size_t kMostMachines = 5'000;
// Rows of a section on a page without an end; also pools that somebody is asked about at a time.
inline constexpr size_t kMostRows = 100;

// What lifecycle explained of a pool.
struct Verdict {
  std::string actor = {};    // who must act
  std::string message = {};  // what is in the way, for people
};

// What the page needs beside the fleet.
struct View {
  size_t width = 120;
  size_t height = 0;  // 0: no end
  absl::Time now = {};
  std::string server = {};
  std::vector<page::WatchHealth> watches = {};
  Filter filter = {};
  size_t first_trouble = 0;                      // how far the pools are scrolled
  std::map<std::string, Verdict> verdicts = {};  // by the pool's resource name
};

// The page, top down: header, map, quotas, queue, pools that are not where they should be. At most
// `height` lines of any width.
std::vector<Line> Render(const Fleet& fleet, const View& view);

// The watches that bring no news, those with the same error as one: their names, the longest time.
std::vector<page::WatchHealth> Silent(const std::vector<page::WatchHealth>& watches);

// Lines as they are written, each cut to `width` and ended by `end`.
std::string Print(const std::vector<Line>& lines, size_t width, bool colour, absl::string_view end);

}  // namespace muster::musterctl::top
