#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// What keeps bytes from being a text, and in which line, from 1, it is first.
struct TextFault {
  std::string what = {};  // "is not UTF-8 text"
  int line = 1;
};

// For files that somebody wrote, before they are parsed: YAML's parser makes U+FFFD of what is not UTF-8, so that a name or a secret would
// be another than was meant. NULs are no text either. nullopt: it is text.
std::optional<TextFault> FindTextFault(absl::string_view bytes);

}  // namespace muster
