#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster::rpc {

// Counts what is open and, once the server stops, says so to what comes and waits for what is
// there. Thread-safe; Enter and Leave take no lock until then.
class OpenCount {
 public:
  void Enter() { state_.fetch_add(kOne); }
  // The last may be the end of this, once it is closed: nothing is touched after the count, and who waits looks at that under the lock.
  void Leave() {
    int64_t state = state_.load();
    while ((state & kClosed) == 0) {
      if (state_.compare_exchange_weak(state, state - kOne)) return;
    }
    MutexLock lock(mutex_);
    state_.fetch_sub(kOne);
    changed_.SignalAll();
  }

  // Set after Close.
  std::optional<absl::Status> refusal() const {
    if ((state_.load(std::memory_order_acquire) & kClosed) == 0) return std::nullopt;
    return refusal_;
  }
  // Once.
  void Close(absl::Status refusal) {
    refusal_ = std::move(refusal);
    state_.fetch_or(kClosed);
  }
  // After Close: waits until nothing is open, at most until `deadline`.
  void WaitUntilEmpty(absl::Time deadline) {
    MutexLock lock(mutex_);
    while (state_.load() >= kOne) {
      const absl::Time now = absl::Now();
      if (now >= deadline) return;
      changed_.WaitFor(mutex_, deadline - now);
    }
  }

 private:
  static constexpr int64_t kClosed = 1;
  static constexpr int64_t kOne = 2;

  std::atomic<int64_t> state_ = 0;  // kOne for each that is open, and kClosed
  absl::Status refusal_;            // written before kClosed, read after it
  Mutex mutex_;
  CondVar changed_;
};

}  // namespace muster::rpc
