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

// How long a program may show no sign of life before it counts as hung: longer than a turn of any
// of its loops takes on a busy machine.
inline constexpr absl::Duration kLifePatience = absl::Minutes(1);

// Whether a program lives, which is not whether it is ready: what it waits for (a database, a
// lease) may be away for hours.
//
// A loop of the program that goes through what would hang with it (its locks, its server) beats
// once a turn. A thread looks whether it still does, and tells systemd: READY=1 when it is ready
// first, WATCHDOG=1 while it lives, STOPPING=1 when it ends; and `on_change` of every change.
// Thread-safe.
class Life {
 public:
  struct Options {
    absl::Duration patience = kLifePatience;
    Notifier notifier = Notifier::FromEnvironment();
    const SteadyClock* clock = TheSteadyClock();
    // Called by Look at first, and whenever `alive` has changed. Null: nobody is told.
    std::function<void(bool alive)> on_change = {};
    // False: only Look looks. For tests.
    bool thread = true;
  };

  explicit Life(Options options);
  // Stop.
  ~Life();

  // A sign of life: one more turn is done. `ready`: whether the program is ready.
  void Beat(bool ready);
  // Whether the last beat was at most `patience` ago.
  bool alive() const;
  // Tells systemd and `on_change` what is to be told now.
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
