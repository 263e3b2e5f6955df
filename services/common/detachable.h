#pragma once

#include "services/common/mutex.h"

namespace muster {

// A reference to something that readers may outlive, as a page of metrics does. Thread-safe.
template <class T>
class Detachable {
 public:
  explicit Detachable(const T* what) : what_(what) {}

  // To be called before `what` goes away: waits for a Read under way, and later ones return false.
  void Detach() {
    MutexLock lock(mutex_);
    what_ = nullptr;
  }

  // Calls f(what) while it stays. False: it is gone, and f was not called.
  template <class F>
  bool Read(F f) const {
    MutexLock lock(mutex_);
    if (what_ == nullptr) return false;
    f(*what_);
    return true;
  }

 private:
  mutable Mutex mutex_;
  const T* what_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
