#include "services/musterctl/print/text_width.h"

#include <algorithm>
#include <cstdint>

namespace muster::musterctl {
namespace {

struct CodePoints {
  uint32_t first = 0;
  uint32_t last = 0;
};

// Of Unicode's EastAsianWidth.txt: the blocks that are wide (W) or fullwidth (F), and pictures.
constexpr CodePoints kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
    {0x20000, 0x3FFFD},
};
// Marks that any script may have over its letters, joiners, variants.
constexpr CodePoints kNoWidth[] = {
    {0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},   {0x200B, 0x200F},
    {0x202A, 0x202E}, {0x2060, 0x206F}, {0x20D0, 0x20FF},   {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

template <size_t N>
bool IsIn(uint32_t point, const CodePoints (&all)[N]) {
  return std::any_of(all, all + N, [point](const CodePoints& some) {
    return some.first <= point && point <= some.last;
  });
}

size_t ColumnsOf(uint32_t point) {
  if (IsIn(point, kNoWidth)) return 0;
  return IsIn(point, kWide) ? 2 : 1;
}

// One character at the begin of a text.
struct Character {
  size_t bytes = 0;
  size_t columns = 0;
};

bool IsTail(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// `text` is not empty. What is no UTF-8 takes a column a character, whatever that is.
Character Next(absl::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  uint32_t point = lead < 0x80   ? lead
                   : lead < 0xE0 ? lead & 0x1F
                   : lead < 0xF0 ? lead & 0x0F
                                 : lead & 0x07;
  size_t bytes = 1;
  for (; bytes < text.size() && bytes < 4 && IsTail(text[bytes]); ++bytes)
    point = point << 6 | (static_cast<unsigned char>(text[bytes]) & 0x3F);
  return {bytes, ColumnsOf(point)};
}

}  // namespace

size_t WidthOf(absl::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character next = Next(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

absl::string_view FirstOf(absl::string_view text, size_t width) {
  size_t end = 0;
  while (end < text.size()) {
    const Character next = Next(text.substr(end));
    if (next.columns > width) break;
    width -= next.columns;
    end += next.bytes;
  }
  return text.substr(0, end);
}

}  // namespace muster::musterctl
