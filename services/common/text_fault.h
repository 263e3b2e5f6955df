#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Why bytes are no text, and the first line, from 1, where that is so.
struct TextFault {
  std::string what = {};  // "is not UTF-8 text"
  int line = 1;
};

// Looks for bytes that are not UTF-8, and for NULs; nullopt: there are none. For files that people
// write, before they are parsed: YAML's parser would replace such bytes by U+FFFD, so that a name
// or a secret would not be the one that was meant.
std::optional<TextFault> FindTextFault(absl::string_view bytes);

}  // namespace muster
