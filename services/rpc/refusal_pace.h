#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/pace.h"
#include "services/common/steady_clock.h"
#include "services/rpc/sweep.h"

namespace muster::rpc {

// How soon callers who have as much as they may have are told so. A caller that takes no notice of
// it asks again at once, and each refusal costs half as much as an answer: then its refusals come
// late, so that it has to wait for them, and the server is there for others. Thread-safe.
class RefusalPace {
 public:
  // `clock` must outlive it.
  explicit RefusalPace(const SteadyClock* clock = TheSteadyClock()) : clock_(*clock) {}

  // How long a refusal of `principal` is to be kept back; zero: it is to be answered at once, as
  // all are of whoever is refused less than kRefusalsPerSecond times a second. Unless it is zero,
  // Answered is to be called once it was answered.
  absl::Duration KeepBack(absl::string_view principal);
  void Answered();

  // Refusals that are kept back.
  int64_t kept_back() const;
  // Callers that are remembered.
  size_t size() const;

 private:
  const SteadyClock& clock_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Pace> paces_ MUSTER_GUARDED_BY(mutex_);
  size_t sweep_at_ MUSTER_GUARDED_BY(mutex_) = kSweepAtLeast;
  int64_t kept_back_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::rpc
