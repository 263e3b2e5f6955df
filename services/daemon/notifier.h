#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::daemon {

// Talks to systemd as sd_notify(3) does: datagrams to the unix socket that $NOTIFY_SOCKET names.
// Without one, says nothing. Thread-safe.
class Notifier {
 public:
  // `socket`: a path, or `@name` in the abstract namespace; empty: nobody listens.
  explicit Notifier(std::string socket, absl::Duration watchdog = absl::ZeroDuration())
      : socket_(std::move(socket)), watchdog_(watchdog) {}
  // $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID.
  static Notifier FromEnvironment();

  // E.g. `READY=1`. False: nobody was told.
  bool Tell(absl::string_view state) const;

  // The longest time that systemd waits for a sign of life (`WATCHDOG=1`); 0: it expects none.
  absl::Duration watchdog() const { return watchdog_; }

 private:
  std::string socket_;
  absl::Duration watchdog_;
};

}  // namespace muster::daemon
