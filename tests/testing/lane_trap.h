#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "services/common/mutex.h"
#include "storage/postgres/lane.h"

namespace muster::testing {

// Runs a function once, the next time that a commit lane comes to a given point. It runs on the
// lane's own thread, which goes on when it returns. Thread-safe.
class LaneTrap {
 public:
  // For LaneOptions::yield.
  std::function<void(storage::LanePoint)> Hook() const {
    return [trap = trap_](storage::LanePoint point) {
      std::function<void()> f;
      {
        MutexLock lock(trap->mutex);
        const auto it = trap->set.find(point);
        if (it == trap->set.end()) return;
        f = std::move(it->second);
        trap->set.erase(it);
      }
      f();
    };
  }
  void Set(storage::LanePoint point, std::function<void()> f) {
    MutexLock lock(trap_->mutex);
    trap_->set[point] = std::move(f);
  }

 private:
  struct Shared {
    Mutex mutex;
    std::map<storage::LanePoint, std::function<void()>> set MUSTER_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Shared> trap_ = std::make_shared<Shared>();
};

}  // namespace muster::testing
