#include "services/musterctl/top/line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/musterctl/print/printable.h"

namespace muster::musterctl::top {
namespace {

// SGR codes that every terminal with colours knows; empty: none.
absl::string_view CodeOf(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kDim:
      return "2";
    case Style::kTitle:
      return "1";
    case Style::kGood:
      return "32";
    case Style::kWork:
      return "36";
    case Style::kChange:
      return "35";
    case Style::kWarn:
      return "33";
    case Style::kBad:
      return "1;31";
  }
  return "";
}

// One byte a column: no control characters, `?` for whatever is beyond ASCII.
std::string OneColumnEach(absl::string_view text) {
  std::string out;
  for (const char byte : Printable(text)) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x80) {
      out += byte;
    } else if (value >= 0xC0) {  // the first byte of a character
      out += '?';
    }
  }
  return out;
}

}  // namespace

Line& Line::Add(absl::string_view text, Style style) {
  std::string shown = OneColumnEach(text);
  width_ += shown.size();
  if (!spans_.empty() && spans_.back().style == style) {
    spans_.back().text += shown;
  } else {
    spans_.push_back({std::move(shown), style});
  }
  return *this;
}

Line& Line::PadTo(size_t width) {
  return width_ < width ? Add(std::string(width - width_, ' ')) : *this;
}

std::string Line::Print(size_t width, bool colour) const {
  const bool cut = width_ > width;
  size_t left = cut ? width - std::min<size_t>(width, 1) : width_;
  std::string out;
  for (const Span& span : spans_) {
    const absl::string_view text = absl::string_view(span.text).substr(0, left);
    left -= text.size();
    const absl::string_view code = colour && !text.empty() ? CodeOf(span.style) : "";
    if (code.empty()) {
      absl::StrAppend(&out, text);
    } else {
      absl::StrAppend(&out, "\x1b[", code, "m", text, "\x1b[0m");
    }
  }
  if (cut && width > 0) out += '>';
  return out;
}

std::vector<Line> Columns::Lines() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], Line(row[i].text).width());
  }
  std::vector<Line> lines;
  for (const auto& row : rows_) {
    Line line;
    size_t begin = 2;
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t width = Line(row[i].text).width();
      if (width > 0)
        line.PadTo(row[i].right ? begin + widths[i] - width : begin).Add(row[i].text, row[i].style);
      // A column that is empty throughout takes no room.
      begin += widths[i] + (widths[i] > 0 ? 2 : 0);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace muster::musterctl::top
