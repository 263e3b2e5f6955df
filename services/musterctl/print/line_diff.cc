#include "services/musterctl/print/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::musterctl {
namespace {

constexpr size_t kAround = 3;

struct DiffLine {
  char sign = ' ';
  absl::string_view text = {};
};

std::vector<absl::string_view> DiffLinesOf(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

// By the longest common subsequence: texts are manifests of some hundred lines.
std::vector<DiffLine> Align(const std::vector<absl::string_view>& a,
                            const std::vector<absl::string_view>& b) {
  std::vector<std::vector<uint32_t>> common(a.size() + 1, std::vector<uint32_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<DiffLine> lines;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      lines.push_back({' ', a[i]});
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      lines.push_back({'-', a[i++]});
    } else {
      lines.push_back({'+', b[j++]});
    }
  }
  return lines;
}

// `LINE,COUNT` of a hunk. Where it has no line, that of the line before.
std::string RangeOf(size_t line, size_t count) {
  if (count == 1) return absl::StrCat(line);
  return absl::StrCat(count == 0 ? line - 1 : line, ",", count);
}

}  // namespace

std::string LineDiff(absl::string_view before, absl::string_view after) {
  const std::vector<DiffLine> lines = Align(DiffLinesOf(before), DiffLinesOf(after));
  std::string out;
  size_t old_line = 1;
  size_t new_line = 1;
  for (size_t at = 0; at < lines.size();) {
    // The next change, with what stands before it.
    size_t change = at;
    while (change < lines.size() && lines[change].sign == ' ') ++change;
    if (change == lines.size()) break;
    const size_t begin = change - std::min(kAround, change - at);
    old_line += begin - at;
    new_line += begin - at;
    size_t end = change;
    for (size_t same = 0; end < lines.size() && same <= 2 * kAround; ++end)
      same = lines[end].sign == ' ' ? same + 1 : 0;
    size_t trailing = 0;
    while (lines[end - 1 - trailing].sign == ' ') ++trailing;
    end -= trailing - std::min(trailing, kAround);
    std::string hunk;
    size_t olds = 0;
    size_t news = 0;
    for (at = begin; at < end; ++at) {
      olds += lines[at].sign != '+';
      news += lines[at].sign != '-';
      absl::StrAppend(&hunk, std::string(1, lines[at].sign), lines[at].text, "\n");
    }
    absl::StrAppend(&out, "@@ -", RangeOf(old_line, olds), " +", RangeOf(new_line, news), " @@\n",
                    hunk);
    old_line += olds;
    new_line += news;
  }
  return out;
}

}  // namespace muster::musterctl
