#include "services/common/from_peer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"

namespace muster::error {
namespace {

constexpr char kSilence[] = "a service does not answer";

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
      kSilence,
      {{"service", service}, {"code", absl::StatusCodeToString(status.code())}, {"cause", cause}});
}

void SilenceLog::Note(absl::string_view service, const absl::Status& status) {
  const std::string cause = CauseOf(status);
  if (cause.empty()) return;
  int64_t untold = 0;
  {
    MutexLock lock(mutex_);
    Told& told = told_[std::string(service)];
    const absl::Duration now = clock_.Now();
    if (now - told.at < kSilencePause) {
      ++told.untold;
      return;
    }
    untold = std::exchange(told.untold, 0);
    told.at = now;
  }
  log::Warn(kSilence, {{"service", service},
                       {"code", absl::StatusCodeToString(status.code())},
                       {"cause", cause},
                       {"untold", untold}});
}

}  // namespace muster::error
