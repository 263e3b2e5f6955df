#pragma once

#include <atomic>
#include <cstddef>

#include "services/common/mutex.h"
#include "services/configuration/core/settle.h"

namespace muster::configuration {

// How many pools are not settled, for the metrics. Every change of a pool itself leaves it settled,
// so pools are looked through only from a change of releases until all are settled. Thread-safe.
class UnsettledCount {
 public:
  // To be called after a release came or went, once memory shows it.
  void ReleasesChanged() { all_settled_ = false; }

  template <class Lane>
  size_t Of(const Lane& lane) {
    MutexLock lock(looking_);
    // What changes while they are looked through calls for another look.
    if (all_settled_.exchange(true)) return 0;
    const size_t unsettled = UnsettledPools(lane).size();
    if (unsettled > 0) all_settled_ = false;
    return unsettled;
  }

 private:
  Mutex looking_;
  std::atomic<bool> all_settled_ = false;
};

}  // namespace muster::configuration
