#include "storage/postgres/conninfo_text.h"

#include <libpq-fe.h>

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

}  // namespace

absl::Status CheckConninfo(const std::string& conninfo) {
  // Our own keywords, such as the service's role, are appended to it, which a URI does not allow.
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(conninfo);
  if (absl::StartsWith(text, "postgresql://") || absl::StartsWith(text, "postgres://"))
    return absl::InvalidArgumentError(
        "must be of words such as `host=db dbname=muster sslmode=verify-full`; a URI is not "
        "taken.");
  char* words = nullptr;
  PQconninfoOption* const options = PQconninfoParse(conninfo.c_str(), &words);
  if (options != nullptr) {
    PQconninfoFree(options);
    return absl::OkStatus();
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
