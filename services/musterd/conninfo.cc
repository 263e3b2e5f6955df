#include "services/musterd/conninfo.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "storage/postgres/conninfo_text.h"

namespace muster::musterd {
namespace {

absl::StatusOr<std::shared_ptr<const std::string>> ConninfoIn(
    const std::string& path, const std::optional<std::string>& text) {
  constexpr char kFlag[] = "--db_conninfo_file";
  if (!text) return error::InvalidField(kFlag, absl::StrCat(path, " cannot be read."));
  std::string line = text->substr(0, text->find('\n'));
  if (line.empty()) return error::InvalidField(kFlag, "is empty.");
  const absl::Status sound = storage::CheckConninfo(line);
  if (!sound.ok()) return error::InvalidField(kFlag, sound.message());
  return std::make_shared<const std::string>(std::move(line));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Conninfo>> Conninfo::Create(Options options) {
  std::unique_ptr<Conninfo> made(new Conninfo(std::move(options.fixed)));
  if (options.path.empty()) return made;
  ASSIGN_OR_RETURN(
      made->file_,
      WatchedFile<std::string>::Create(
          {.path = options.path,
           .what = "connection string of the database",
           .interval = options.interval,
           .parse = [path = options.path](const auto& text) { return ConninfoIn(path, text); },
           // The string itself may have a password.
           .name = [path = options.path](const std::string&) { return path; }}));
  return made;
}

}  // namespace muster::musterd
