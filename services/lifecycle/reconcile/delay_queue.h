#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/common/trace_context.h"
#include "services/trace/span.h"

namespace muster::lifecycle {

// Which pools are to be looked at, and when. A pool stands in it at most once, at its earliest
// time. Pools are taken in the order in which they became due, so that however many changes come,
// each due pool waits for all the others at most. Times are of the steady clock: a jump of the time
// of day neither delays nor hastens anything. Thread-safe.
class DelayQueue {
 public:
  // `clock` must outlive it.
  explicit DelayQueue(const SteadyClock* clock = TheSteadyClock()) : clock_(*clock) {}

  // Makes a pool due now; one that is due already keeps its place. `cause`: the trace that made it
  // due, if one did.
  void Add(absl::string_view pool, const TraceContext& cause = {}) {
    AddIn(pool, absl::ZeroDuration(), cause);
  }
  // Makes a pool due once `delay` has gone by, or earlier if it is scheduled earlier already.
  void AddIn(absl::string_view pool, absl::Duration delay, const TraceContext& cause = {}) {
    MutexLock lock(mutex_);
    const Place place{clock_.Now() + std::max(delay, absl::ZeroDuration()), ++arrivals_};
    const auto [it, fresh] = waiting_.try_emplace(std::string(pool), Waiting{place});
    it->second.causes.Add(cause);
    if (!fresh) {
      if (it->second.place.first <= place.first) return;
      order_.erase(it->second.place);
      it->second.place = place;
    }
    const auto at = order_.emplace(place, it->first).first;
    if (at == order_.begin()) wakes_.Signal();
  }
  // Removes all pools.
  void Clear() {
    MutexLock lock(mutex_);
    waiting_.clear();
    order_.clear();
  }
  // Ends the calls of Wait.
  void Wake() {
    MutexLock lock(mutex_);
    wakes_.SignalAll();
  }

  // Takes at most `max` pools that are due, in the order in which they became so, and adds what
  // made them due to `causes`.
  std::vector<std::string> Take(size_t max, trace::Causes* causes = nullptr) {
    MutexLock lock(mutex_);
    const absl::Duration now = clock_.Now();
    std::vector<std::string> pools;
    while (!order_.empty() && pools.size() < max && order_.begin()->first.first <= now) {
      pools.push_back(std::move(order_.begin()->second));
      const auto taken = waiting_.extract(pools.back());
      order_.erase(order_.begin());
      if (causes != nullptr) causes->Add(taken.mapped().causes);
    }
    return pools;
  }

  // Waits until a pool may be due, for at most `most`.
  void Wait(absl::Duration most) {
    MutexLock lock(mutex_);
    if (!order_.empty()) {
      const absl::Duration left = order_.begin()->first.first - clock_.Now();
      if (left <= absl::ZeroDuration()) return;
      most = std::min(most, left);
    }
    wakes_.WaitFor(mutex_, most);
  }

  // The time until the next pool is due; infinite when there is none.
  absl::Duration UntilNext() const {
    MutexLock lock(mutex_);
    if (order_.empty()) return absl::InfiniteDuration();
    return std::max(order_.begin()->first.first - clock_.Now(), absl::ZeroDuration());
  }

  struct Stats {
    size_t scheduled = 0;         // pools that have a time
    size_t due = 0;               // whose time has come
    absl::Duration oldest_due{};  // for how long the first of these has been waiting
  };
  // Takes time in proportion to how many are due.
  Stats stats() const {
    MutexLock lock(mutex_);
    const absl::Duration now = clock_.Now();
    Stats stats{order_.size(), 0, absl::ZeroDuration()};
    for (const auto& [place, pool] : order_) {
      if (place.first > now) break;
      ++stats.due;
    }
    if (stats.due > 0) stats.oldest_due = now - order_.begin()->first.first;
    return stats;
  }

 private:
  // When, and which arrival it was.
  using Place = std::pair<absl::Duration, uint64_t>;
  struct Waiting {
    Place place = {};
    trace::Causes causes = {};
  };

  const SteadyClock& clock_;
  mutable Mutex mutex_;
  CondVar wakes_;
  uint64_t arrivals_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Waiting> waiting_ MUSTER_GUARDED_BY(mutex_);
  absl::btree_map<Place, std::string> order_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::lifecycle
