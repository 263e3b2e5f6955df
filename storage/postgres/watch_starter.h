#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/common/job_queue.h"
#include "services/common/mutex.h"
#include "services/common/turn_queue.h"
#include "storage/postgres/held_by_caller.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/served_position.h"
#include "storage/postgres/watch.h"
#include "storage/postgres/watch_hub.h"

namespace muster::storage {

// Begins watches, then hands them to the hub. A watch without a revision begins with a snapshot of
// memory, on a thread that keeps the lane from publishing for one list at a time. A watch with a
// revision begins with what the journal tells since, read as its reader takes it, on other threads,
// many watches in turn. Watches of different callers (WatchOptions::turn) are taken in turn. None
// begins while the database is away: memory may be old. Thread-safe.
class WatchStarter {
 public:
  // Makes the snapshot of the rows that a watcher wants, for Watcher::StartSnapshot.
  using SnapshotOf = std::function<absl::StatusOr<SnapshotItems>(const Watcher&)>;

  // `poke` is called when memory is found to be of a history that was replaced. All must outlive
  // this.
  WatchStarter(const LaneOptions& options, LaneDb& db, const ServedPosition& memory, WatchHub& hub,
               SnapshotOf snapshot_of, std::function<void()> poke);

  void Start();
  // The watch ends by its own status; nothing fails here.
  std::shared_ptr<Watcher> Watch(WatchOptions options);
  // Tells the threads to end; what has not begun ends with UNAVAILABLE. Join waits for that.
  void Stop();
  void Join();

 private:
  // A watch that is on its way from a revision to the present.
  struct Resuming {
    std::shared_ptr<Watcher> watcher = {};
    int64_t at = 0;       // revision up to which it was offered changes
    Position began = {};  // where memory was when it began
    int levels = 0;       // how often it had caught up with memory
  };
  // What becomes of it after a step.
  enum class Step { kOver, kAgain, kWaitsForRoom };

  void Run();
  bool stopping() const;
  // How many changes of the journal are read ahead of its reader.
  size_t Window(const Watcher& watcher) const;
  // `row` for the watcher's queue; counts for its caller until it is taken.
  std::shared_ptr<const JournalRow> ReadAhead(const Watcher& watcher, const JournalRow& row) const;
  void BeginWithSnapshots(const std::vector<std::shared_ptr<Watcher>>& watchers);
  // For watchers that share one list.
  void BeginTogether(const std::vector<std::shared_ptr<Watcher>>& watchers);
  void BeginResumed(std::shared_ptr<Watcher> watcher);
  void Resume(Resuming& resuming);
  // Hands a watcher that names the history and the revision of memory to the hub: it needs nothing
  // of the journal. False: it is not one.
  bool JoinAtOnce(const std::shared_ptr<Watcher>& watcher);
  // Brings it a part of the way. An error is how the watch ends.
  absl::StatusOr<Step> ResumeSome(Resuming& resuming);
  // Whether the journal tells all that came after `resuming.at`.
  absl::Status CheckResume(const Resuming& resuming);
  // Hands it to the hub; kAgain: memory has moved on, it is to read the journal first.
  absl::StatusOr<Step> JoinHub(Resuming& resuming);
  // Offers the journal from `at`, which moves, up to `upto`; unless `all`, until as much waits for
  // the watcher's reader as may (Window).
  absl::Status OfferJournal(Watcher& watcher, int64_t& at, int64_t upto, bool all = false);
  void ResumeLater(Resuming resuming);
  void AwaitRoom(const Resuming& resuming);

  const LaneOptions& options_;
  LaneDb& db_;
  const ServedPosition& memory_;
  WatchHub& hub_;
  const SnapshotOf snapshot_of_;
  const std::function<void()> poke_;
  // Bytes that wait in the queues of watches that resume, each with rows of its own.
  const std::shared_ptr<HeldByCaller> read_ahead_ = std::make_shared<HeldByCaller>();
  mutable Mutex mutex_;
  CondVar wakes_;
  TurnQueue<std::shared_ptr<Watcher>> new_watches_ MUSTER_GUARDED_BY(mutex_);
  // Those whose readers have still much to take.
  std::map<const Watcher*, Resuming> waiting_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  JobQueue<Resuming> resumes_;
  std::thread thread_;
};

}  // namespace muster::storage
