#pragma once

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/backoff.h"

namespace muster::client {

// Decides when the next stream of a watch is opened after one has ended. The first message of all
// must come in time; after that it retries for ever. Not thread-safe.
class StreamRetries {
 public:
  StreamRetries(absl::Duration first, absl::Duration last) : backoff_(first, last) {}

  // A message came.
  void Heard() {
    heard_ = true;
    backoff_.Reset();
  }
  bool heard() const { return heard_; }

  // How long after the end of the last stream the next is opened; nullopt: never, the watch ends
  // with `end`. `left`: the time that is left for the first message of all to come.
  std::optional<absl::Duration> PauseAfter(const absl::Status& end, absl::Duration left) {
    if (!Passes(end)) return std::nullopt;
    const absl::Duration pause = backoff_.Next();
    if (heard_) return pause;
    return left <= absl::ZeroDuration() ? std::nullopt : std::optional(std::min(pause, left));
  }

 private:
  bool Passes(const absl::Status& end) const {
    return absl::IsOutOfRange(end) || absl::IsUnavailable(end) || absl::IsResourceExhausted(end) ||
           (heard_ && absl::IsDeadlineExceeded(end));
  }

  Backoff backoff_;
  bool heard_ = false;
};

}  // namespace muster::client
