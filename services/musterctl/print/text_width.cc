#include "services/musterctl/print/text_width.h"

#include <locale.h>
#include <wchar.h>

namespace muster::musterctl {
namespace {

// As long as it lives, this thread's C library takes text for UTF-8, whatever LANG says: wcwidth
// knows widths of those characters only that its locale has.
class InUtf8 {
 public:
  InUtf8() : before_(uselocale(Locale())) {}
  ~InUtf8() { uselocale(before_); }
  InUtf8(const InUtf8&) = delete;
  InUtf8& operator=(const InUtf8&) = delete;

 private:
  static locale_t Locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;  // null, where there is none: uselocale leaves all as it is
  }
  const locale_t before_;
};

// One character at the begin of a text.
struct Character {
  size_t bytes = 0;
  size_t columns = 0;
};

// `text` is not empty. What is no character takes a column a byte.
Character Next(absl::string_view text) {
  mbstate_t state = {};
  wchar_t character = 0;
  const size_t bytes = mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {1, 1};
  const int columns = wcwidth(character);  // -1: it is not in the tables
  return {bytes, columns < 0 ? 1 : static_cast<size_t>(columns)};
}

}  // namespace

size_t WidthOf(absl::string_view text) {
  const InUtf8 utf8;
  size_t columns = 0;
  while (!text.empty()) {
    const Character next = Next(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

absl::string_view FirstOf(absl::string_view text, size_t width) {
  const InUtf8 utf8;
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
