#include "services/rpc/path_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/status_macros.h"

namespace muster::rpc {

absl::Status WrongAt(size_t at, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("at byte ", at + 1, ": ", what));
}

absl::StatusOr<std::string> ReadQuoted(absl::string_view text, size_t& at) {
  const size_t begin = at++;
  std::string out;
  while (at < text.size() && text[at] != '"') {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    out += text[at++];
  }
  if (at == text.size()) return WrongAt(begin, "the text does not end: `\"` is missing");
  ++at;
  return out;
}

// Its parts are kept apart by NUL, which no part has, because a part in quotes may have dots.
absl::StatusOr<std::string> ReadWord(absl::string_view text, size_t& at,
                                     absl::FunctionRef<bool(char)> goes_on) {
  std::string word;
  while (at < text.size() && goes_on(text[at])) {
    word += text[at++];
    const bool parts = word.back() == '.' || word.back() == '\0';
    const bool quoted = parts && at < text.size() && text[at] == '"';
    if (!quoted) continue;
    ASSIGN_OR_RETURN(const std::string part, ReadQuoted(text, at));
    word.back() = '\0';
    absl::StrAppend(&word, "\1", part);
    if (at < text.size() && text[at] == '.') {
      ++at;
      word += '\0';
    }
  }
  return word;
}

std::vector<std::string> PartsOf(const std::string& word) {
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(word, '\0')) {
    if (!part.empty() && part.front() == '\1') {
      parts.emplace_back(part.substr(1));
    } else {
      for (absl::string_view piece : absl::StrSplit(part, '.')) parts.emplace_back(piece);
    }
  }
  return parts;
}

}  // namespace muster::rpc
