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

// An error that another service of Muster, or the way to it, answered a call of ours with: as our
// own callers may hear it. What a service said (it has a Detail) stays as it is. Of what gRPC itself
// said, which names addresses, there stays the code and that `who` ("Quota") does not answer: its
// words become the cause (cause.h). OK stays OK.
absl::Status FromPeer(const absl::Status& status, absl::string_view who);

// Logs the cause of what FromPeer made, if it has one. `service`: "quota".
void LogSilence(absl::string_view service, const absl::Status& status);

// The same for who asks as often as callers want it: of each service once in kSilencePause, with how many more there were since it was
// told last. Thread-safe.
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
