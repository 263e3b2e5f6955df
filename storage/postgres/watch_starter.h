#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/served_position.h"
#include "storage/postgres/watch.h"
#include "storage/postgres/watch_hub.h"

namespace muster::storage {

// Begins watches on a thread of its own: those that wait together with a snapshot of memory or, where
// the watcher has one, with what the journal tells since. Then they are the hub's. Thread-safe.
class WatchStarter {
 public:
  // Of the rows of memory that a watcher wants; for Watcher::StartSnapshot.
  using SnapshotOf = std::function<std::function<std::optional<WatchItem>()>(const Watcher&)>;

  // `poke` is called when memory is found to be of a history that was replaced. All must outlive
  // this.
  WatchStarter(const LaneOptions& options, LaneDb& db, const ServedPosition& memory, WatchHub& hub,
               SnapshotOf snapshot_of, std::function<void()> poke);

  void Start();
  // The watch ends by its own status; nothing fails here.
  std::shared_ptr<Watcher> Watch(WatchOptions options);
  // Tells the thread to end; what has not begun ends with UNAVAILABLE. Join waits for that.
  void Stop();
  void Join();

 private:
  void Run();
  bool stopping() const;
  void BeginWithSnapshots(const std::vector<std::shared_ptr<Watcher>>& watchers);
  void BeginResumed(const std::shared_ptr<Watcher>& watcher);
  // OK: it is sent changes from here on, or nobody wants it any more. Else: how it ends.
  absl::Status Resume(const std::shared_ptr<Watcher>& watcher, int64_t at);
  // Offers the journal from `at`, which moves, up to `upto`.
  absl::Status OfferJournal(Watcher& watcher, int64_t& at, int64_t upto);

  const LaneOptions& options_;
  LaneDb& db_;
  const ServedPosition& memory_;
  WatchHub& hub_;
  const SnapshotOf snapshot_of_;
  const std::function<void()> poke_;
  mutable Mutex mutex_;
  CondVar wakes_;
  std::vector<std::shared_ptr<Watcher>> new_watches_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::storage
