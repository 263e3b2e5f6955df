#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "services/common/mutex.h"

namespace muster::storage {

// How much of something each caller (WatchOptions::turn) holds. Thread-safe.
class HeldByCaller {
 public:
  size_t Of(uint64_t turn) const {
    MutexLock lock(mutex_);
    const auto found = held_.find(turn);
    return found == held_.end() ? 0 : found->second;
  }
  // Counts `amount` more for the caller for as long as what it returns is there.
  static std::shared_ptr<const void> Hold(const std::shared_ptr<HeldByCaller>& all, uint64_t turn,
                                          size_t amount) {
    {
      MutexLock lock(all->mutex_);
      all->held_[turn] += amount;
    }
    const auto give_back = [all, turn, amount](const HeldByCaller*) {
      MutexLock lock(all->mutex_);
      const auto found = all->held_.find(turn);
      if (found != all->held_.end() && (found->second -= amount) == 0) all->held_.erase(found);
    };
    return std::shared_ptr<const HeldByCaller>(all.get(), give_back);
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, size_t> held_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::storage
