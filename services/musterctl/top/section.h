#pragma once

#include <cstddef>
#include <vector>

#include "services/musterctl/top/line.h"

namespace muster::musterctl::top {

// A part of the page: a title, and rows of which the first ones are shown where not all fit.
struct Section {
  Line title = {};
  std::vector<Line> rows = {};

  size_t height() const { return 1 + rows.size(); }
};

// Divides `height` lines among sections that want `wants` lines each: in equal parts, and what a
// section does not want goes to the others. Returns the lines of each.
std::vector<size_t> Share(const std::vector<size_t>& wants, size_t height);

// The section in at most `height` lines; the last says how many rows are left out.
std::vector<Line> Cut(const Section& section, size_t height);

}  // namespace muster::musterctl::top
