#include "services/common/from_peer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"

namespace muster::error {
namespace {

std::string SilenceOf(absl::StatusCode code, absl::string_view who) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
      return absl::StrCat(who, " does not answer.");
    case absl::StatusCode::kDeadlineExceeded:
      return absl::StrCat(who, " did not answer in time.");
    default:  // seldom, and then the code says more than we could
      return absl::StrCat(who, " does not answer (", absl::StatusCodeToString(code), ").");
  }
}

}  // namespace

absl::Status FromPeer(const absl::Status& status, absl::string_view who) {
  if (status.ok() || DetailOf(status)) return status;
  return WithCause(absl::Status(status.code(), SilenceOf(status.code(), who)), status.message());
}

void LogSilence(absl::string_view service, const absl::Status& status) {
  const std::string cause = CauseOf(status);
  if (cause.empty()) return;
  log::Warn(
      "a service does not answer",
      {{"service", service}, {"code", absl::StatusCodeToString(status.code())}, {"cause", cause}});
}

}  // namespace muster::error
