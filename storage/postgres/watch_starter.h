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
#include "storage/postgres/history.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/served_position.h"
#include "storage/postgres/watch.h"
#include "storage/postgres/watch_hub.h"

namespace muster::storage {

// Begins watches: with a snapshot of memory, on a thread of its own, which keeps the lane from
// publishing for one list at a time; or, where the watcher has a revision, with what the journal
// tells since, read as its reader takes it, many watches in turn, on threads of their own. Then they
// are the hub's. Both in turns of those whose they are (WatchOptions::turn). Thread-safe.
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
  // Tells the threads to end; what has not begun ends with UNAVAILABLE. Join waits for that.
  void Stop();
  void Join();

 private:
  // A watch that is on its way from a revision to the present.
  struct Resuming {
    std::shared_ptr<Watcher> watcher = {};
    int64_t at = 0;       // what was offered
    Position began = {};  // where memory was
    int levels = 0;       // times that it came up with memory, and memory had moved on
  };
  // What becomes of it after a step.
  enum class Step { kOver, kAgain, kWaitsForRoom };

  void Run();
  bool stopping() const;
  // As much of the journal is read ahead of a reader.
  size_t Window() const;
  void BeginWithSnapshots(const std::vector<std::shared_ptr<Watcher>>& watchers);
  // With one list.
  void BeginTogether(const std::vector<std::shared_ptr<Watcher>>& watchers);
  void BeginResumed(std::shared_ptr<Watcher> watcher);
  void Resume(Resuming& resuming);
  // Whether it is in the history that it names, and where memory is: it wants nothing of the journal,
  // and is the hub's at once.
  bool JoinAtOnce(const std::shared_ptr<Watcher>& watcher);
  // A part of the way. An error is how the watch ends.
  absl::StatusOr<Step> ResumeSome(Resuming& resuming);
  // Whether the journal goes on from there.
  absl::Status CheckResume(const Resuming& resuming);
  // From then on it is sent changes, unless there are such that it has not.
  absl::StatusOr<Step> JoinHub(Resuming& resuming);
  // Offers the journal from `at`, which moves, up to `upto`.
  absl::Status OfferJournal(Watcher& watcher, int64_t& at, int64_t upto);
  void ResumeLater(Resuming resuming);
  void AwaitRoom(const Resuming& resuming);

  const LaneOptions& options_;
  LaneDb& db_;
  const ServedPosition& memory_;
  WatchHub& hub_;
  const SnapshotOf snapshot_of_;
  const std::function<void()> poke_;
  mutable Mutex mutex_;
  CondVar wakes_;
  TurnQueue<std::shared_ptr<Watcher>> new_watches_ MUSTER_GUARDED_BY(mutex_);
  // Those whose readers have much to take.
  std::map<const Watcher*, Resuming> waiting_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  JobQueue<Resuming> resumes_;
  std::thread thread_;
};

}  // namespace muster::storage
