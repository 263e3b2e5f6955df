#pragma once

#include <string>
#include <utility>

#include "services/common/mutex.h"

namespace muster::musterd {

// The conninfo of the database, which may change while we run: later connections use the new one.
// Thread-safe.
class Conninfo {
 public:
  explicit Conninfo(std::string text) : text_(std::move(text)) {}

  void Set(std::string text) {
    MutexLock lock(mutex_);
    text_ = std::move(text);
  }
  std::string Get() const {
    MutexLock lock(mutex_);
    return text_;
  }

 private:
  mutable Mutex mutex_;
  std::string text_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::musterd
