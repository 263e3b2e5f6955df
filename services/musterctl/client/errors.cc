#include "services/musterctl/client/errors.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "services/common/error.h"

namespace muster::musterctl {
namespace {

constexpr char kByOthersUrl[] = "musterctl/known-by-others";

}  // namespace

absl::Status FromServer(const absl::Status& status) {
  if (status.ok() || error::DetailOf(status)) return status;
  return error::Make(status.code(), status.message(),
                     {.reason = absl::StatusCodeToString(status.code())});
}

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

absl::Status KnownByOthers(absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kByOthersUrl, absl::Cord());
  return status;
}

bool PassesBy(const absl::Status& status) {
  return IsAway(status) || absl::IsResourceExhausted(status) ||
         status.GetPayload(kByOthersUrl).has_value();
}

bool NoneAnswers(const absl::Status& status) {
  return absl::IsUnavailable(status) ||
         (absl::IsDeadlineExceeded(status) && error::DetailOf(status));
}

bool IsInDoubt(const absl::Status& status) {
  return NoneAnswers(status) || absl::IsUnknown(status);
}

absl::Status RenameFields(const absl::Status& status,
                          const std::function<std::string(const std::string& field)>& rename) {
  std::optional<error::Detail> detail = error::DetailOf(status);
  if (!detail) return status;
  for (error::FieldViolation& field : detail->fields) {
    if (!field.field.empty()) field.field = rename(field.field);
  }
  return error::Make(status.code(), status.message(), *detail);
}

std::string ManifestPath(absl::string_view field) {
  if (absl::StartsWith(field, "spec.") || absl::StartsWith(field, "metadata."))
    return std::string(field);
  static constexpr absl::string_view kMessages[] = {"zone",    "instance_type", "machines", "quota",
                                                    "release", "cluster",       "node_pool"};
  const size_t dot = field.find('.');
  if (dot != absl::string_view::npos) {
    const absl::string_view first = field.substr(0, std::min(dot, field.find('[')));
    for (const absl::string_view message : kMessages) {
      if (first == message) return ManifestPath(field.substr(dot + 1));
    }
  }
  if (field == "name") return "metadata.name";
  std::string path = "spec.";
  bool upper = false;
  for (const char c : field) {
    if (c != '_') path.push_back(upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c);
    upper = c == '_';
  }
  return path;
}

std::string RenderError(const absl::Status& status) {
  std::vector<std::string> lines;
  const std::optional<error::Detail> detail = error::DetailOf(status);
  if (detail) {
    for (const error::FieldViolation& field : detail->fields) {
      lines.push_back(field.field.empty() ? field.description
                                          : absl::StrCat(field.field, ": ", field.description));
    }
  }
  if (lines.empty()) lines = absl::StrSplit(std::string(status.message()), '\n');
  if (detail) {
    const std::string code = absl::StatusCodeToString(status.code());
    const std::string retry =
        detail->retry_after
            ? absl::StrCat(", try again in ",
                           absl::ToInt64Seconds(absl::Ceil(*detail->retry_after, absl::Seconds(1))),
                           "s")
            : "";
    absl::StrAppend(&lines.back(), " (", code,
                    detail->reason == code ? "" : absl::StrCat(", ", detail->reason), retry, ")");
  }
  return absl::StrCat("error: ", absl::StrJoin(lines, "\nerror: "), "\n");
}

}  // namespace muster::musterctl
