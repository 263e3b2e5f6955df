#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster::lifecycle {

// Which pools are to be looked at, and when. A pool stands in it at most once, at its earliest
// time. Thread-safe.
class DueSet {
 public:
  // Now.
  void Add(absl::string_view pool) { AddAt(pool, absl::InfinitePast()); }
  void AddAt(absl::string_view pool, absl::Time at) {
    MutexLock lock(mutex_);
    const auto [it, fresh] = at_.try_emplace(std::string(pool), at);
    if (!fresh) {
      if (it->second <= at) return;
      order_.erase({it->second, it->first});
      it->second = at;
    }
    order_.insert({at, it->first});
    if (at == absl::InfinitePast()) wakes_.Signal();
  }
  // Everybody who waits looks again.
  void Wake() {
    MutexLock lock(mutex_);
    wakes_.SignalAll();
  }

  // Takes at most `max` pools that are due at `now`.
  std::vector<std::string> Take(size_t max, absl::Time now) {
    MutexLock lock(mutex_);
    std::vector<std::string> pools;
    while (!order_.empty() && pools.size() < max && order_.begin()->first <= now) {
      pools.push_back(order_.begin()->second);
      at_.erase(pools.back());
      order_.erase(order_.begin());
    }
    return pools;
  }

  // Waits until something may be due, for at most `most` of real time.
  void Wait(absl::Time now, absl::Duration most) {
    MutexLock lock(mutex_);
    if (!order_.empty()) {
      if (order_.begin()->first <= now) return;
      most = std::min(most, order_.begin()->first - now);
    }
    wakes_.WaitFor(mutex_, most);
  }

  size_t size() const {
    MutexLock lock(mutex_);
    return at_.size();
  }

 private:
  mutable Mutex mutex_;
  CondVar wakes_;
  absl::flat_hash_map<std::string, absl::Time> at_ MUSTER_GUARDED_BY(mutex_);
  absl::btree_set<std::pair<absl::Time, std::string>> order_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::lifecycle
