#pragma once

#include <cstdint>
#include <optional>
#include <thread>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"
#include "storage/postgres/connection_pool.h"

namespace muster::storage {

// Asks the database now and then how long the journal of a schema is, on a thread and a connection
// of its own, which is closed in between. Thread-safe.
class JournalGauge {
 public:
  struct Figures {
    int64_t revision = 0;                            // of the last change
    int64_t changes = 0;                             // that the journal holds, forgotten ones too
    absl::Duration age = absl::ZeroDuration();       // of the oldest of them; 0: it holds none
    absl::Duration asked_at = absl::ZeroDuration();  // by TheSteadyClock

    // The age of the oldest change at `steady_now`; if the journal held none, the most that it can
    // be.
    absl::Duration AgeAt(absl::Duration steady_now) const { return age + (steady_now - asked_at); }
  };

  explicit JournalGauge(ConnectOptions connect, absl::Duration interval = absl::Seconds(30));
  ~JournalGauge();

  // The figures of the last answer; nullopt: there was none yet, or the last question failed.
  std::optional<Figures> last() const;

 private:
  void Run();
  std::optional<Figures> Ask();

  ConnectionPool pool_;
  const absl::Duration interval_;
  mutable Mutex mutex_;
  std::optional<Figures> last_ MUSTER_GUARDED_BY(mutex_);
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::storage
