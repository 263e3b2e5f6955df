#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/lifecycle/core/pool_plan.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// How long a large pool rests after it was looked at, in proportion to what that costs: while all
// its Nodes boot, each look finds a few more of them up, publishes that, and would be followed by
// the next at once. It rests only from what its Nodes do and what was published of it, and only if
// nothing else was found to be done. Times are of the steady clock. Thread-safe.
class PoolPace {
 public:
  // A look takes a microsecond or two a Node.
  static constexpr absl::Duration kRestANode = absl::Microseconds(10);
  // Fewer take no time worth mentioning.
  static constexpr size_t kLargePool = 1'000;

  // `clock` must outlive it.
  explicit PoolPace(const SteadyClock* clock = TheSteadyClock()) : clock_(*clock) {}

  // The pools are about to be looked at: they rest from now on if they did after their last look.
  void Begin(const std::vector<std::string>& pools) {
    MutexLock lock(mutex_);
    for (const std::string& pool : pools) {
      const auto it = rests_.find(pool);
      if (it != rests_.end()) it->second.until = clock_.Now() + it->second.time;
    }
  }
  // A pool was looked at, and that is its plan.
  void Looked(const Snapshot& snapshot, const PoolPlan& plan) {
    const std::string& name = snapshot.pool->name;
    const size_t nodes = snapshot.nodes.size();
    MutexLock lock(mutex_);
    if (nodes < kLargePool || !absl::c_all_of(plan.actions, Publishes)) {
      rests_.erase(name);
      return;
    }
    const absl::Duration time = static_cast<double>(nodes) * kRestANode;
    rests_[name] = {*snapshot.pool, time, clock_.Now() + time};
  }
  // After which time the pool is to be looked at because of one of its Nodes.
  absl::Duration RestOf(absl::string_view pool) const {
    MutexLock lock(mutex_);
    const auto it = rests_.find(pool);
    return it == rests_.end() ? absl::ZeroDuration() : Left(it->second);
  }
  // The same because its row is now `row`.
  absl::Duration RestAfter(const Pool& row) const {
    MutexLock lock(mutex_);
    const auto it = rests_.find(row.name);
    if (it == rests_.end()) return absl::ZeroDuration();
    Pool same = row;
    same.status = it->second.pool.status;
    same.account.scaled_to = it->second.pool.account.scaled_to;  // with the status: ApplyPlan
    return same == it->second.pool ? Left(it->second) : absl::ZeroDuration();
  }
  void Clear() {
    MutexLock lock(mutex_);
    rests_.clear();
  }

 private:
  struct Rest {
    Pool pool = {};  // as it was looked at
    absl::Duration time = {};
    absl::Duration until = {};
  };
  static bool Publishes(const Action& action) {
    return std::holds_alternative<SetStatus>(action) || std::holds_alternative<EmitEvent>(action);
  }
  absl::Duration Left(const Rest& rest) const {
    return std::max(rest.until - clock_.Now(), absl::ZeroDuration());
  }

  const SteadyClock& clock_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Rest> rests_ MUSTER_GUARDED_BY(mutex_);  // large pools
};

}  // namespace muster::lifecycle
