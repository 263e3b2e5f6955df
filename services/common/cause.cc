#include "services/common/cause.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace muster::error {
namespace {

constexpr char kUrl[] = "muster.error.Cause";

}  // namespace

absl::Status WithCause(absl::Status status, absl::string_view cause) {
  if (!status.ok()) status.SetPayload(kUrl, absl::Cord(cause));
  return status;
}

std::string CauseOf(const absl::Status& status) {
  const auto cause = status.GetPayload(kUrl);
  return cause.has_value() ? std::string(*cause) : "";
}

std::string ForOperators(const absl::Status& status) {
  const std::string cause = CauseOf(status);
  return cause.empty() ? std::string(status.message())
                       : absl::StrCat(status.message(), " (", cause, ")");
}

}  // namespace muster::error
