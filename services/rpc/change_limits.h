#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "services/common/change_pace.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/rpc/sweep.h"

namespace muster::rpc {

// Limits how much each account (access::AccountOf) changes by its own calls, in rows and in bytes
// of the journal (ChangePace::ChangesOf). Thread-safe.
class ChangeLimits {
 public:
  // `per_minute`: 0: any number. `clock` must outlive it and what it gives.
  explicit ChangeLimits(double per_minute, const SteadyClock* clock = TheSteadyClock())
      : per_minute_(per_minute), clock_(*clock) {}

  // The pace that is to be told how much the call has changed; null: nobody counts, as it is the
  // platform's, or there is no limit. RESOURCE_EXHAUSTED (TOO_FAST), with a time to wait: the
  // account has changed too much.
  absl::StatusOr<std::shared_ptr<ChangePace>> Enter(const std::string& account);

  int64_t refused() const;
  // Accounts that are remembered.
  size_t size() const;

 private:
  const double per_minute_;
  const SteadyClock& clock_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<ChangePace>> paces_ MUSTER_GUARDED_BY(mutex_);
  size_t sweep_at_ MUSTER_GUARDED_BY(mutex_) = kSweepAtLeast;
  int64_t refused_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::rpc
