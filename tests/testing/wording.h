#pragma once

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::testing {

// Whether it says such as `1 Nodes` or `1 Node are`.
inline bool CountsWrong(absl::string_view text) {
  for (size_t at = text.find("1 "); at != text.npos; at = text.find("1 ", at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(') continue;  // of a larger word
    const absl::string_view rest = text.substr(at + 2);
    for (const char* noun : {"Node", "machine", "claim", "pool", "boot", "gang", "request"}) {
      if (!absl::StartsWith(rest, noun)) continue;
      const absl::string_view after = rest.substr(absl::string_view(noun).size());
      for (const char* many : {"s", " are ", " were ", " have ", " wait "})
        if (absl::StartsWith(after, many)) return true;
    }
  }
  return false;
}

// Whether it says such as `0.25s` or `12:00:00.123Z`.
inline bool HasFractionOfSecond(absl::string_view text) {
  for (size_t dot = text.find('.'); dot != text.npos; dot = text.find('.', dot + 1)) {
    size_t end = dot + 1;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    const bool digits = dot > 0 && absl::ascii_isdigit(text[dot - 1]) && end > dot + 1;
    if (digits && end < text.size() && (text[end] == 's' || text[end] == 'Z')) return true;
  }
  return false;
}

// What is wrong with the form of a sentence that Muster says to people; empty: nothing. It must end
// with one full stop, use singular and plural rightly, and name times in whole seconds.
inline std::string WordingFault(absl::string_view text) {
  const auto fault = [&](absl::string_view what) { return absl::StrCat(what, ": \"", text, "\""); };
  if (!absl::EndsWith(text, ".")) return fault("no full stop");
  for (const char* twice : {"..", ":.", ",.", ": .", "  ", ".:"})
    if (absl::StrContains(text, twice)) return fault("punctuation");
  if (CountsWrong(text)) return fault("a wrong plural");
  if (HasFractionOfSecond(text)) return fault("a fraction of a second");
  return "";
}

}  // namespace muster::testing
