#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "services/musterctl/manifest/kinds.h"

namespace muster::musterctl {

// The pages of one cell's list, from the thread that asks for them to the one that takes them. Thread-safe.
class PageQueue {
 public:
  // A cell whose turn is far off waits with so many: 20,000 resources.
  static constexpr size_t kMostAhead = 20;

  // Waits while there are too many. False: no more are wanted.
  bool Put(std::vector<Item> page) {
    MutexLock lock(mutex_);
    while (pages_.size() >= kMostAhead && is_wanted_) changes_.Wait(mutex_);
    if (is_wanted_) pages_.push_back(std::move(page));
    changes_.SignalAll();
    return is_wanted_;
  }
  // There are no more.
  void End(absl::Status status) {
    MutexLock lock(mutex_);
    end_ = std::move(status);
    changes_.SignalAll();
  }

  // Waits for the next page. nullopt: there are no more, see end().
  std::optional<std::vector<Item>> Take() {
    MutexLock lock(mutex_);
    while (pages_.empty() && !end_) changes_.Wait(mutex_);
    if (pages_.empty()) return std::nullopt;
    std::vector<Item> page = std::move(pages_.front());
    pages_.pop_front();
    changes_.SignalAll();
    return page;
  }
  // How the list ended; only after End.
  absl::Status end() const {
    MutexLock lock(mutex_);
    return *end_;
  }
  // No more are wanted.
  void Close() {
    MutexLock lock(mutex_);
    is_wanted_ = false;
    changes_.SignalAll();
  }

 private:
  mutable Mutex mutex_;
  CondVar changes_;
  std::deque<std::vector<Item>> pages_ MUSTER_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ MUSTER_GUARDED_BY(mutex_);
  bool is_wanted_ MUSTER_GUARDED_BY(mutex_) = true;
};

}  // namespace muster::musterctl
