#include "services/musterctl/top/section.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::musterctl::top {

std::vector<size_t> Share(const std::vector<size_t>& wants, size_t height) {
  std::vector<size_t> got(wants.size());
  size_t left = height;
  // A line after the other, the first sections first: heights are small.
  for (bool gave = true; gave && left > 0;) {
    gave = false;
    for (size_t i = 0; i < wants.size() && left > 0; ++i) {
      if (got[i] >= wants[i]) continue;
      ++got[i];
      --left;
      gave = true;
    }
  }
  return got;
}

std::vector<Line> Cut(const Section& section, size_t height) {
  std::vector<Line> lines;
  if (height == 0) return lines;
  lines.push_back(section.title);
  const size_t room = height - 1;
  if (room == 0) return lines;
  const bool whole = section.rows.size() <= room;
  const size_t shown = whole ? section.rows.size() : room - 1;
  lines.insert(lines.end(), section.rows.begin(),
               section.rows.begin() + static_cast<std::ptrdiff_t>(shown));
  if (!whole) {
    const size_t more = section.rows.size() - shown;
    lines.emplace_back(absl::StrCat("  ... ", more, more == 1 ? " line more" : " lines more"),
                       Style::kDim);
  }
  return lines;
}

}  // namespace muster::musterctl::top
