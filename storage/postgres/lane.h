#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/status_macros.h"
#include "storage/postgres/answer_queue.h"
#include "storage/postgres/auditor.h"
#include "storage/postgres/batch_committer.h"
#include "storage/postgres/change_publisher.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal_follower.h"
#include "storage/postgres/lane_audit.h"
#include "storage/postgres/lane_changes.h"
#include "storage/postgres/lane_clock.h"
#include "storage/postgres/lane_context.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/read_barrier.h"
#include "storage/postgres/state_cell.h"
#include "storage/postgres/store.h"
#include "storage/postgres/watch.h"
#include "storage/postgres/watch_hub.h"
#include "storage/postgres/watch_snapshot.h"
#include "storage/postgres/watch_starter.h"

namespace muster::storage {

// The commit lane: turns what thousands of callers want into one sequence of batches on the
// journal, and shows what is committed, by whomever, to readers and watchers.
//
//   Submit ──► CommitQueue ──► BatchCommitter ──► AnswerQueue ──► callers
//                   │                │
//                   ▼                ▼
//            JournalFollower ──► ChangePublisher ─┬─► StateCell ◄── ReadBarrier ◄── Read
//                                                 ├─► WatchHub ◄── WatchStarter ◄── Watch
//                                                 └─► subscribers
//
// Fourteen threads. The lane's own takes work from the queue: it commits batches, follows the
// journal when idle or poked, and publishes. AnswerQueue, ReadBarrier and WatchHub have one each,
// WatchStarter three: one for snapshots, two for watches that resume. LaneDb has seven: one listens
// for other processes' commits, one announces ours, one compacts the journal, and four cut
// connections whose server does not answer (AnswerWatchdog): those of the writer, of short reads,
// of long reads, and of the listener.
//
// Every part has a lock of its own or none. WatchHub's is taken before the others, StateCell's
// before that of the queue. All public functions are thread-safe. Callbacks run on the lane's
// threads and must not block.
template <class State>
class CommitLane {
 public:
  using Change = typename State::Change;
  // See LaneCommand.
  using Decide = typename LaneCommand<State>::Decide;
  using Done = typename LaneCommand<State>::Done;
  // `state` is null unless the status is OK, and must not be kept.
  using ReadDone =
      absl::AnyInvocable<void(const absl::Status&, const State* state, int64_t revision)>;
  // Told of every published change, own or another replica's, in order. An empty span: everything
  // may have changed.
  using Subscriber = typename ChangePublisher<State>::Subscriber;

  // Loads the state and starts. `clock`, unless null, stands in for the database's (tests); it and
  // `store` must outlive the lane. UNAVAILABLE: the database is away.
  static absl::StatusOr<std::unique_ptr<CommitLane>> Create(LaneOptions options,
                                                            const Store<State>* store,
                                                            const Clock* clock = nullptr);
  ~CommitLane() { Stop(); }

  // No command and no read is taken any more, and what waits is answered UNAVAILABLE: nothing of it
  // was done. A batch that runs goes on, and is answered when it ends. Idempotent.
  void StopIntake();
  // The same, then watches end with UNAVAILABLE and threads end. Idempotent.
  void Stop();

  // `incarnation`, unless empty, names the history that the caller saw when it made the command
  // (PeekAt): in another one the command is not decided but answered UNAVAILABLE. So are commands
  // under way when the database turns out to have lost its history.
  void Submit(Decide decide, Done done, absl::Time deadline = absl::InfiniteFuture(),
              std::string incarnation = {}) {
    queue_.Submit({std::move(decide), std::move(done), deadline, std::move(incarnation)});
  }

  // A linearizable read, until `deadline` (by NowForDeadlines, as Submit's): `done` sees every
  // change that was committed before the call.
  void Read(ReadDone done, absl::Time deadline = absl::InfiniteFuture());

  // f(const State&, int64_t revision) on memory as it is: committed, perhaps not the newest.
  template <class F>
  auto Peek(F f) const {
    return memory_.Peek(std::move(f));
  }

  // The same with where memory is: f(const State&, const Position&).
  template <class F>
  auto PeekAt(F f) const {
    return memory_.PeekAt(std::move(f));
  }

  // Begins a watch; see muster.type.v1.WatchStart. It ends by its own status; nothing fails here.
  std::shared_ptr<Watcher> Watch(WatchOptions options) {
    // "All kinds" means those that this release knows: the journal may hold a later release's.
    if (options.kinds.empty()) options.kinds = store_.Kinds();
    return watch_starts_.Watch(std::move(options));
  }

  // To be called before the first Submit; `subscriber` is called as long as the lane lives.
  void Subscribe(Subscriber subscriber) { publisher_.Subscribe(std::move(subscriber)); }

  // Whether the database answered when it was last asked (at most LaneOptions::poll ago), and
  // memory is not being loaded anew.
  bool ready() const { return db_.ready() && !follower_.loading(); }
  // The same, once the locks that callers need were had: does not return while one of them is never
  // given back.
  bool ReadyWithLocks() const {
    stats();
    return Peek([&](const auto&, int64_t) { return ready(); });
  }
  int64_t revision() const { return memory_.served_revision(); }
  LaneStats stats() const;

  // The time that decisions go by: the database's at the last look at the head, moved on by a
  // steady clock. For code that needs it outside of commands. Lives as long as the lane.
  const Clock& clock() const { return clock_; }

  // Compares memory, tables and journal at one revision. Holds nobody up. Blocks; costs four copies
  // of the state. UNAVAILABLE: the database is away.
  absl::StatusOr<Comparison> Compare() { return audit_.Compare(); }

  // Audits memory without holding anybody up: beside the tables, each piece of it and they at one
  // revision, and by the domain's own rules, a sentence for each thing that is wrong. Blocks; costs
  // a copy of the state. UNAVAILABLE: the database is away, or forgets its journal faster than this
  // goes on.
  absl::StatusOr<AuditReport> Audit(const StateAudit<State>& audit) { return audit_.Audit(audit); }

  // What the journal knows of a resource, or of many as they once were. Block. See LaneChanges.
  absl::StatusOr<ChangeLog> ListChanges(const std::string& key, const LogStart& start,
                                        int64_t limit, absl::Time deadline) {
    return changes_.List(key, start, limit, deadline);
  }
  absl::StatusOr<ChangeLog> GetPast(const std::string& key, const Moment& then, Lives lives,
                                    absl::Time deadline) {
    return changes_.GetPast(key, then, lives, deadline);
  }
  absl::StatusOr<PastPage> ListPast(const PastScope& scope, const Moment& then,
                                    const std::string& after, size_t limit, absl::Time deadline) {
    return changes_.ListPast(scope, then, after, limit, deadline);
  }
  const Store<State>& store() const { return store_; }

  // Forgets the journal up to `revision`, so that it does not grow for ever. Blocks.
  absl::Status Compact(int64_t revision) { return db_.Compact(revision); }
  // The same for a chunk of what is beyond LaneOptions::journal_keep or journal_keep_time; the lane
  // calls it by itself. True: there is more to forget.
  absl::StatusOr<bool> CompactSome() { return db_.CompactSome(); }

 private:
  CommitLane(LaneOptions options, const Store<State>* store, const Clock* clock);

  // While the outcome of a batch is unknown, nobody should wait behind it.
  LaneOptions WithDoubtHook(LaneOptions options);
  LaneContext<State> Context() { return {options_, store_, clock_, db_, memory_}; }
  void Start();
  // Answers the commands and reads that wait.
  void FailWaiting(const absl::Status& status);

  // --- the lane's thread ---
  void Run();
  // While the database is away (`status`) nobody should wait behind the next futile try.
  void FailBehind(const absl::Status& status);
  void TendWatchers();
  // Else they would believe that nothing happens.
  void EndWatchesIfLongAway(std::chrono::steady_clock::time_point now);

  const LaneOptions options_;
  const Store<State>& store_;
  LaneClock clock_;
  LaneDb db_;
  StateCell<State> memory_;
  WatchHub watchers_;
  CommitQueue<State> queue_;
  AnswerQueue<State> answers_;
  ReadBarrier reads_;
  WatchSnapshots<State> snapshots_;  // the watch starter's thread's
  WatchStarter watch_starts_;
  ChangePublisher<State> publisher_;
  JournalFollower<State> follower_;
  BatchCommitter<State> committer_;
  LaneAudit<State> audit_;
  LaneChanges<State> changes_;
  std::chrono::steady_clock::time_point tend_at_ = {};
  std::chrono::steady_clock::time_point last_ready_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

template <class State>
CommitLane<State>::CommitLane(LaneOptions options, const Store<State>* store, const Clock* clock)
    : options_(WithDoubtHook(std::move(options))),
      store_(*store),
      clock_(clock),
      db_(options_, &clock_),
      queue_(options_),
      reads_(options_, db_, memory_, [this] { queue_.Poke(); }),
      snapshots_(memory_, store_, options_.max_snapshot_rows, options_.few_snapshot_rows),
      watch_starts_(
          options_, db_, memory_, watchers_,
          [this](const Watcher& watcher) { return snapshots_.Of(watcher); },
          [this] { queue_.Poke(); }),
      publisher_(memory_, watchers_, reads_),
      follower_(Context(), publisher_),
      committer_(Context(), publisher_, follower_, answers_),
      audit_(Context(), reads_, queue_),
      changes_(Context(), reads_) {}

template <class State>
absl::StatusOr<std::unique_ptr<CommitLane<State>>> CommitLane<State>::Create(
    LaneOptions options, const Store<State>* store, const Clock* clock) {
  auto lane = std::unique_ptr<CommitLane>(new CommitLane(std::move(options), store, clock));
  RETURN_IF_ERROR(lane->follower_.Begin());
  lane->Start();
  return lane;
}

template <class State>
LaneOptions CommitLane<State>::WithDoubtHook(LaneOptions options) {
  options.runner.on_doubt = [this] {
    db_.set_ready(false);
    FailBehind(DatabaseAway());
    EndWatchesIfLongAway(std::chrono::steady_clock::now());
  };
  return options;
}

template <class State>
void CommitLane<State>::Start() {
  thread_ = std::thread([this] { Run(); });
  answers_.Start();
  reads_.Start();
  watch_starts_.Start();
  db_.StartTailer([this](int64_t revision) {
    if (revision > memory_.served_revision()) queue_.Poke();
  });
}

template <class State>
void CommitLane<State>::StopIntake() {
  queue_.CloseIntake();
  reads_.CloseIntake();
  FailWaiting(error::Unavailable("The server stops."));
}

template <class State>
void CommitLane<State>::Stop() {
  StopIntake();
  if (!queue_.Stop()) return;
  reads_.Stop();
  watch_starts_.Stop();
  db_.Stop();
  if (thread_.joinable()) thread_.join();
  reads_.Join();
  watch_starts_.Join();
  answers_.Finish();
  watchers_.Stop();
  MutexLock lock(watchers_.mutex());
  watchers_.EndAll(error::Unavailable("The server stops."));
}

template <class State>
void CommitLane<State>::FailWaiting(const absl::Status& status) {
  queue_.Fail(status);
  reads_.FailUnasked(status);
}

template <class State>
void CommitLane<State>::Read(ReadDone done, absl::Time deadline) {
  reads_.Read(
      // Where the status is OK, memory is held for reading.
      [this, done = std::move(done)](const absl::Status& status)
          ABSL_NO_THREAD_SAFETY_ANALYSIS mutable {
            if (!status.ok()) return done(status, nullptr, 0);
            done(status, &memory_.held(), memory_.held_at().revision);
          },
      deadline);
}

template <class State>
void CommitLane<State>::Run() {
  typename CommitQueue<State>::Work work;
  bool look = false;
  while (queue_.Await(work, committer_.room(), committer_.socket())) {
    const bool all_taken = work.batch.size() < committer_.room();
    FailBehind(committer_.Advance(std::move(work.batch), work.answered));
    if (all_taken || committer_.room() == 0) committer_.EncodeAhead();
    if (work.closed) committer_.FailUnsent(error::Unavailable("The server stops."));
    if (work.inspection) {
      FailBehind(committer_.Drain());
      work.inspection();
    }
    look = look || work.look;
    // Batches under way check the head themselves.
    if (look && committer_.idle()) {
      follower_.CatchUpIdle();
      look = false;
    }
    TendWatchers();
    work = {};
  }
  committer_.Finish(error::Unavailable("The server stops."));
}

template <class State>
void CommitLane<State>::FailBehind(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return;
  committer_.FailUnsent(status);
  FailWaiting(status);
}

template <class State>
void CommitLane<State>::TendWatchers() {
  const auto now = std::chrono::steady_clock::now();
  if (now < tend_at_) return;
  tend_at_ = now + absl::ToChronoNanoseconds(options_.progress_interval);
  EndWatchesIfLongAway(now);
  watchers_.EndLate(absl::FromChrono(now.time_since_epoch()), options_.late_reader,
                    options_.max_waiting);
  watchers_.Tend(memory_.at());
  changes_.Tend(now);
}

template <class State>
void CommitLane<State>::EndWatchesIfLongAway(std::chrono::steady_clock::time_point now) {
  if (db_.ready()) {
    last_ready_ = now;
  } else if (now - last_ready_ >= absl::ToChronoNanoseconds(options_.watch_grace)) {
    MutexLock lock(watchers_.mutex());
    watchers_.EndAll(DatabaseAway());
  }
}

template <class State>
LaneStats CommitLane<State>::stats() const {
  // Read before accepted(), so that `queued` is never negative.
  const int64_t answered = committer_.outcome().commands();
  return {.revision = memory_.served_revision(),
          .queued = queue_.accepted() - answered,
          .batches = committer_.outcome().batches(),
          .commands = answered,
          .done_commands = committer_.outcome().done_commands(),
          .changes = committer_.outcome().changes(),
          .failed_batches = committer_.outcome().failed_batches(),
          .retries = db_.stats().retries,
          .in_doubt = db_.stats().in_doubt,
          .watchers = watchers_.Count(),
          .refused_watches = snapshots_.refused(),
          .history_replaced = follower_.history_replaced(),
          .past_rows = changes_.rows_worked_out()};
}

}  // namespace muster::storage
