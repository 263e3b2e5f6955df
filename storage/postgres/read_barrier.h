#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/turn_queue.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/served_position.h"

namespace muster::storage {

class ReadBarrier;

// Blocks until a linearizable read may be answered, and calls `show` while memory is held for
// reading. Errors as of ReadBarrier::Done.
absl::Status ReadNow(ReadBarrier& reads, absl::Time deadline, absl::FunctionRef<void()> show);

// Linearizable reads: one is answered once memory shows every change that was committed before it
// came. Those that come while the database is being asked for the journal's head share the next
// question: up to LaneOptions::max_reads, taken from all callers in turn, so that nobody waits for
// all reads of a caller who has many. On a thread of its own; thread-safe.
//
//   Read ──► unasked ──► [ ask the head ] ──► waiting ──► memory is there ──► done
//               ▲                                │
//               └── the history was replaced ────┘
class ReadBarrier {
 public:
  // Called once. OK: what the read must see is shown, and the memory's mutex is held for reading
  // until this returns. UNAVAILABLE: the database is away, memory did not get there by the
  // deadline, or the lane stops; other errors as of TransactionRunner::Run.
  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  // `poke` is called when memory is found behind the database. All must outlive the barrier.
  ReadBarrier(const LaneOptions& options, LaneDb& db, const ServedPosition& memory,
              std::function<void()> poke);

  void Start();
  void Read(Done done, absl::Time deadline);
  // Memory has moved.
  void Wake();
  // Answers with `status` the reads that no question for the head covers yet.
  void FailUnasked(const absl::Status& status);
  // No read is taken any more, and none waits for memory any more.
  void CloseIntake();
  // Tells the thread to end, which answers what it still has. Join waits for that.
  void Stop();
  void Join();

 private:
  struct PendingRead {
    Done done;
    absl::Time deadline;
    // What memory must show before it is answered.
    std::string incarnation = {};
    int64_t revision = 0;
  };

  void Run();
  // Waits for reads or for memory. False: the lane stops.
  bool Await(std::vector<PendingRead>& unasked, bool none_waits);
  // One question of the head for all of `unasked`; what it settles moves to `waiting`.
  void AskHead(std::vector<PendingRead>& unasked, std::vector<PendingRead>& waiting);
  // Answers those that memory satisfies, and those that have waited in vain. What waited for a
  // history that is gone is asked for again.
  void AnswerReads(std::vector<PendingRead>& unasked, std::vector<PendingRead>& waiting);

  const LaneOptions& options_;
  LaneDb& db_;
  const ServedPosition& memory_;
  const std::function<void()> poke_;
  std::atomic<bool> intake_over_ = false;
  Mutex mutex_;
  CondVar wakes_;
  TurnQueue<PendingRead> new_reads_ MUSTER_GUARDED_BY(mutex_);
  bool moved_ MUSTER_GUARDED_BY(mutex_) = false;          // memory, since the reads looked at it
  bool awaits_memory_ MUSTER_GUARDED_BY(mutex_) = false;  // a read does, and the thread sleeps
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::storage
