#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

namespace muster::storage {

// A member of a list of hosts as libpq takes it.
struct DatabaseHost {
  std::string host = {};  // name, address or folder of a socket; libpq's own default: empty
  std::string port = {};
};

// `conninfo` with its host `first`, if it has it, moved to the front of the list of hosts. A
// conninfo that libpq does not understand is returned as it is. Pure.
std::string WithHostFirst(const std::string& conninfo, const DatabaseHost& first);

// Which host of several took writes last: to be tried first, for one that is cut off or hangs costs
// each connection its whole time to connect. And how often one was lost. Shared by the connections
// of a process; thread-safe.
class WritableHost {
 public:
  void Learn(DatabaseHost host) {
    MutexLock lock(mutex_);
    host_ = std::move(host);
  }
  // A connection broke: those that were made before it are not to be trusted either.
  void Lost() {
    MutexLock lock(mutex_);
    host_ = {};
    ++losses_;
  }
  int64_t losses() const { return losses_; }
  std::string FirstIn(const std::string& conninfo) const {
    MutexLock lock(mutex_);
    return host_.host.empty() ? conninfo : WithHostFirst(conninfo, host_);
  }

 private:
  mutable Mutex mutex_;
  DatabaseHost host_ MUSTER_GUARDED_BY(mutex_);
  std::atomic<int64_t> losses_ = 0;  // asked for by every transaction
};

}  // namespace muster::storage
