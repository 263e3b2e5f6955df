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

// Hands the pages of one cell's list from the thread that fetches them to the one that consumes
// them. Thread-safe.
class PageQueue {
 public:
  // Most pages (20 of 1,000 resources) that wait for a cell's turn; then Put blocks.
  static constexpr size_t kMostAhead = 20;

  // Blocks while kMostAhead pages wait. False: no more are wanted (Close).
  bool Put(std::vector<Item> page) {
    MutexLock lock(mutex_);
    while (pages_.size() >= kMostAhead && is_wanted_) changes_.Wait(mutex_);
    if (is_wanted_) pages_.push_back(std::move(page));
    changes_.SignalAll();
    return is_wanted_;
  }
  // To be called once, after the last Put.
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
  // The consumer wants no more pages: Put returns false from now on, and does not block.
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
