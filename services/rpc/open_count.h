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
  void Enter() { open_.fetch_add(1); }
  void Leave() {
    if (open_.fetch_sub(1) > 1 || !closed_.load()) return;
    MutexLock lock(mutex_);
    changed_.SignalAll();
  }

  // Set after Close.
  std::optional<absl::Status> refusal() const {
    if (!closed_.load(std::memory_order_acquire)) return std::nullopt;
    return refusal_;
  }
  // Once.
  void Close(absl::Status refusal) {
    refusal_ = std::move(refusal);
    closed_.store(true);
  }
  // After Close: waits until nothing is open, at most until `deadline`.
  void WaitUntilEmpty(absl::Time deadline) {
    MutexLock lock(mutex_);
    while (open_.load() > 0) {
      const absl::Time now = absl::Now();
      if (now >= deadline) return;
      changed_.WaitFor(mutex_, deadline - now);
    }
  }

 private:
  std::atomic<int64_t> open_ = 0;
  std::atomic<bool> closed_ = false;
  absl::Status refusal_;  // written before closed_, read after it
  Mutex mutex_;
  CondVar changed_;
};

}  // namespace muster::rpc
