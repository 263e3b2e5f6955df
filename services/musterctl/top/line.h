#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::musterctl::top {

// What a piece of text is about; colour tells it again.
enum class Style : uint8_t { kPlain, kDim, kTitle, kGood, kWork, kChange, kWarn, kBad };

// One line of the page: pieces of text in styles. One character is one column: what is not
// printable ASCII is shown otherwise.
class Line {
 public:
  Line() = default;
  explicit Line(absl::string_view text, Style style = Style::kPlain) { Add(text, style); }

  Line& Add(absl::string_view text, Style style = Style::kPlain);
  // Blanks until the line is so wide.
  Line& PadTo(size_t width);
  size_t width() const { return width_; }
  // The line, cut to `width` (it then ends in `>`). With `colour`: with escape codes, reset at the
  // end.
  std::string Print(size_t width, bool colour) const;

 private:
  struct Span {
    std::string text = {};
    Style style = Style::kPlain;
  };
  std::vector<Span> spans_;
  size_t width_ = 0;
};

// The lines of a table: cells of a column begin below one another, two blanks apart.
class Columns {
 public:
  struct Cell {
    std::string text = {};
    Style style = Style::kPlain;
    bool right = false;  // numbers
  };
  void AddRow(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  std::vector<Line> Lines() const;

 private:
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace muster::musterctl::top
