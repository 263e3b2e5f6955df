#include "storage/postgres/conninfo_text.h"

#include <libpq-fe.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::storage {

absl::Status CheckConninfo(const std::string& conninfo) {
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
