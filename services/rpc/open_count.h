#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"

namespace muster::rpc {

// Counts what is open. Once the server stops (Close), refuses what comes and waits for what is
// open. Thread-safe; Enter and Leave take no lock until then.
class OpenCount {
 public:
  void Enter() { state_.fetch_add(kOne); }
  // Once closed, the last Leave may let this be destroyed: so the count is changed and looked at
  // under the lock.
  void Leave() {
    int64_t state = state_.load();
    while ((state & kClosed) == 0) {
      if (state_.compare_exchange_weak(state, state - kOne)) return;
    }
    MutexLock lock(mutex_);
    state_.fetch_sub(kOne);
    changed_.SignalAll();
  }

  // The status to refuse with; set after Close.
  std::optional<absl::Status> refusal() const {
    if ((state_.load(std::memory_order_acquire) & kClosed) == 0) return std::nullopt;
    return refusal_;
  }
  // To be called once.
  void Close(absl::Status refusal) {
    refusal_ = std::move(refusal);
    state_.fetch_or(kClosed);
  }
  // After Close: waits until nothing is open, at most until `deadline`.
  void WaitUntilEmpty(absl::Time deadline) {
    MutexLock lock(mutex_);
    while (state_.load() >= kOne) {
      const absl::Time now = NowForDeadlines();
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
