#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"

namespace muster::error {

// Turns the error of our call to another service of Muster into one that our own callers may see.
// An error of that service (it has a Detail) stays as it is. Of an error of gRPC itself, whose
// message names addresses, only the code stays, with the message that `who` ("Quota") does not
// answer; gRPC's words become the cause (cause.h). OK stays OK.
absl::Status FromPeer(const absl::Status& status, absl::string_view who);

// Logs the cause of what FromPeer made, if it has one. `service`: "quota".
void LogSilence(absl::string_view service, const absl::Status& status);

// LogSilence for code that calls peers as often as its own callers want: logs for each service at
// most once in kSilencePause, with how many more there were since the last line. Thread-safe.
class SilenceLog {
 public:
  static constexpr absl::Duration kSilencePause = absl::Minutes(1);

  explicit SilenceLog(const SteadyClock* clock = TheSteadyClock()) : clock_(*clock) {}

  void Note(absl::string_view service, const absl::Status& status);

 private:
  struct Told {
    absl::Duration at = -absl::InfiniteDuration();
    int64_t untold = 0;
  };

  const SteadyClock& clock_;
  Mutex mutex_;
  std::map<std::string, Told> told_ MUSTER_GUARDED_BY(mutex_);  // by service
};

}  // namespace muster::error
