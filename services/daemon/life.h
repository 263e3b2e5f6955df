#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/common/stopper.h"
#include "services/daemon/notifier.h"

namespace muster::daemon {

// How long a program may be without a sign of life before it counts as hung: longer than any of its loops takes for a turn on a
// machine that is busy.
inline constexpr absl::Duration kLifePatience = absl::Minutes(1);

// Whether a program lives, which is not whether it is ready: what it waits for (a database, a lease) may be away for hours.
//
// A loop of the program that goes through what would hang with it (its locks, its server) beats once a turn. A thread looks
// whether it still does, and tells systemd: READY=1 when it is ready first, WATCHDOG=1 while it lives, STOPPING=1 when it ends;
// and `on_change` of every change. Thread-safe.
class Life {
 public:
  struct Options {
    absl::Duration patience = kLifePatience;
    Notifier notifier = Notifier::FromEnvironment();
    const SteadyClock* clock = TheSteadyClock();
    // Whether it lives: called by Look, at first too. Null: nobody is told.
    std::function<void(bool alive)> on_change = {};
    // False: only Look looks. For tests.
    bool thread = true;
  };

  explicit Life(Options options);
  // Stop.
  ~Life();

  // One more turn is done.
  void Beat(bool ready);
  // Whether the last was at most `patience` ago.
  bool alive() const;
  // Tells what is to be told now.
  void Look();
  // The program ends: no look from now on. Idempotent.
  void Stop();

 private:
  const Options options_;
  mutable Mutex mutex_;
  absl::Duration beat_ MUSTER_GUARDED_BY(mutex_);
  bool ready_ MUSTER_GUARDED_BY(mutex_) = false;
  Mutex looking_;
  std::optional<bool> told_alive_ MUSTER_GUARDED_BY(looking_);
  std::optional<bool> told_ready_ MUSTER_GUARDED_BY(looking_);
  bool began_ MUSTER_GUARDED_BY(looking_) = false;  // READY=1 was told
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::daemon
