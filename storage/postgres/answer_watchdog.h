#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"

namespace muster::storage {

// The socket of a connection, and since when its server owes an answer. Thread-safe.
class AskedSocket {
 public:
  // Keeps a descriptor of its own: `socket` may be closed, and its number be another's.
  explicit AskedSocket(int socket);
  ~AskedSocket();
  AskedSocket(const AskedSocket&) = delete;
  AskedSocket& operator=(const AskedSocket&) = delete;

  void Asks() { asked_at_ = std::chrono::steady_clock::now().time_since_epoch().count(); }
  void Heard() { asked_at_ = 0; }
  // Ends the connection for both sides if the server has owed an answer for so long.
  void CutIfOwed(std::chrono::nanoseconds patience);

 private:
  const int socket_;
  std::atomic<int64_t> asked_at_ = 0;  // 0: it owes none
};

// Cuts connections whose server does not answer although its kernel does: it is frozen, or its
// storage hangs. The timeouts that Postgres offers are the server's own to keep, and libpq waits as
// long as the connection stands. A thread; thread-safe.
class AnswerWatchdog {
 public:
  // Looks a few times within `patience`, so that a cut comes at most a quarter of it late.
  // Infinite: never cuts.
  explicit AnswerWatchdog(absl::Duration patience);
  ~AnswerWatchdog();

  void Watch(const std::shared_ptr<AskedSocket>& socket);

 private:
  void Run();

  const std::chrono::nanoseconds patience_;
  Mutex mutex_;
  std::vector<std::weak_ptr<AskedSocket>> sockets_ MUSTER_GUARDED_BY(mutex_);
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::storage
