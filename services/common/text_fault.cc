#include "services/common/text_fault.h"

namespace muster {
namespace {

// How many bytes the character has that the text begins with; 0: it is none. As RFC 3629: the
// shortest form, no surrogates, up to U+10FFFF.
size_t CharacterSize(absl::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return at(1) >= least && at(1) <= most ? size : 0;
}

}  // namespace

std::optional<TextFault> FindTextFault(absl::string_view bytes) {
  int line = 1;
  for (size_t size = 0; !bytes.empty(); bytes.remove_prefix(size)) {
    size = CharacterSize(bytes);
    if (size == 0) return TextFault{"is not UTF-8 text", line};
    if (bytes.front() == '\0') return TextFault{"has a zero byte", line};
    line += bytes.front() == '\n' ? 1 : 0;
  }
  return std::nullopt;
}

}  // namespace muster
