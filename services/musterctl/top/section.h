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

// How many lines each of the sections gets that want so many, of `height` in all: what is left by
// those that want less goes to the others in equal parts.
std::vector<size_t> Share(const std::vector<size_t>& wants, size_t height);

// The section in at most `height` lines; the last says how many rows are left out.
std::vector<Line> Cut(const Section& section, size_t height);

}  // namespace muster::musterctl::top
