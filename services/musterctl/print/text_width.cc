#include "services/musterctl/print/text_width.h"

#include <locale.h>
#include <wchar.h>

namespace muster::musterctl {
namespace {

// As long as it lives, this thread's C library knows the widths of all characters, whatever LANG
// says.
class InUtf8 {
 public:
  InUtf8() : before_(uselocale(Locale())) {}
  ~InUtf8() { uselocale(before_); }
  InUtf8(const InUtf8&) = delete;
  InUtf8& operator=(const InUtf8&) = delete;

  // As many columns as it takes; one where the C library does not know.
  size_t ColumnsOf(wchar_t character) const {
    const int columns = Locale() == nullptr ? 1 : wcwidth(character);
    return columns < 0 ? 1 : static_cast<size_t>(columns);
  }

 private:
  // Null where its file is missing, as in an image that has little else than musterctl: then
  // uselocale changes nothing.
  static locale_t Locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;
  }
  const locale_t before_;
};

// One character at the begin of a text.
struct Character {
  size_t bytes = 0;
  wchar_t value = 0;
};

bool IsTail(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// `text` is not empty. What is no UTF-8 counts as some character.
Character Next(absl::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const int mask = lead < 0x80 ? 0x7F : lead < 0xE0 ? 0x1F : lead < 0xF0 ? 0x0F : 0x07;
  Character next{1, static_cast<wchar_t>(lead & mask)};
  for (; next.bytes < text.size() && next.bytes < 4 && IsTail(text[next.bytes]); ++next.bytes)
    next.value = next.value << 6 | (static_cast<unsigned char>(text[next.bytes]) & 0x3F);
  return next;
}

}  // namespace

size_t WidthOf(absl::string_view text) {
  const InUtf8 utf8;
  size_t columns = 0;
  while (!text.empty()) {
    const Character next = Next(text);
    columns += utf8.ColumnsOf(next.value);
    text.remove_prefix(next.bytes);
  }
  return columns;
}

absl::string_view FirstOf(absl::string_view text, size_t width) {
  const InUtf8 utf8;
  size_t end = 0;
  while (end < text.size()) {
    const Character next = Next(text.substr(end));
    const size_t columns = utf8.ColumnsOf(next.value);
    if (columns > width) break;
    width -= columns;
    end += next.bytes;
  }
  return text.substr(0, end);
}

}  // namespace muster::musterctl
