#include "storage/postgres/conninfo_text.h"

#include <libpq-fe.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::storage {

absl::Status CheckConninfo(const std::string& conninfo) {
  // Each service's role is written behind it.
  if (absl::StartsWith(conninfo, "postgresql://") || absl::StartsWith(conninfo, "postgres://"))
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
  return absl::InvalidArgumentError(
      absl::StrCat("is no connection string: ", absl::StripAsciiWhitespace(said), "."));
}

}  // namespace muster::storage
