#include "storage/postgres/conninfo_text.h"

#include <libpq-fe.h>

#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::storage {

namespace {

// libpq quotes the word that it stumbles over, which may be a part of a password with spaces.
bool MayHoldASecret(const std::string& conninfo) {
  return absl::StrContains(conninfo, "password") || absl::StrContains(conninfo, "://");
}

using ParsedConninfo = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

std::optional<std::string> WordOf(const ParsedConninfo& parsed, absl::string_view keyword) {
  for (const PQconninfoOption* at = parsed.get(); at != nullptr && at->keyword != nullptr; ++at)
    if (at->keyword == keyword && at->val != nullptr) return at->val;
  return std::nullopt;
}

// Whether a word that is appended is a word of its own: libpq skips spaces after a `=`, and takes
// one after a `\` for a part of the value.
bool TakesMoreWords(const std::string& conninfo) {
  constexpr char kSomebody[] = "somebody";
  const ParsedConninfo longer(
      PQconninfoParse(absl::StrCat(conninfo, " user=", kSomebody).c_str(), nullptr),
      &PQconninfoFree);
  return WordOf(longer, "user") == kSomebody;
}

}  // namespace

absl::Status CheckConninfo(const std::string& conninfo) {
  // Our own keywords, such as the service's role, are appended to it, which a URI does not allow.
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(conninfo);
  if (absl::StartsWith(text, "postgresql://") || absl::StartsWith(text, "postgres://"))
    return absl::InvalidArgumentError(
        "must be of words such as `host=db dbname=muster sslmode=verify-full`; a URI is not "
        "taken.");
  char* words = nullptr;
  const ParsedConninfo parsed(PQconninfoParse(conninfo.c_str(), &words), &PQconninfoFree);
  if (parsed != nullptr) {
    // Ours would take its place (EffectiveConninfo), without a word.
    if (WordOf(parsed, "options"))
      return absl::InvalidArgumentError(
          "must not have `options`, which Muster sets itself; ALTER ROLE ... SET says what a "
          "role's "
          "sessions begin with.");
    if (TakesMoreWords(conninfo)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "ends with an empty value or with `\\`, which would swallow the words that are appended, "
        "such as the service's role; an empty value is ''.");
  }
  const std::string said(words == nullptr ? "out of memory" : words);
  PQfreemem(words);
  if (MayHoldASecret(conninfo)) {
    return absl::InvalidArgumentError(
        "is no connection string: it is of `keyword=value`, and a value with spaces stands in "
        "single quotes (where is not said, lest part of a password be).");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("is no connection string: ", absl::StripAsciiWhitespace(said), "."));
}

}  // namespace muster::storage
