#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/cause.h"
#include "services/common/clock.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/auditor.h"
#include "storage/postgres/history.h"
#include "storage/postgres/lane_clock.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/read_barrier.h"
#include "storage/postgres/state_cell.h"
#include "storage/postgres/store.h"
#include "storage/postgres/watch.h"
#include "storage/postgres/watch_hub.h"
#include "storage/postgres/watch_snapshot.h"
#include "storage/postgres/watch_starter.h"

namespace muster::storage {

// The commit lane: one thread that turns what thousands of callers want into one sequence of
// batches on the journal.
//
//   Submit ──► queue ──► [ lock head ► catch up ► decide on a staged state ► store + journal ► commit ]
//                                                                                         │
//                                                             callers ◄── publish ◄───────┘
//                                                            watchers ◄──┘
//
//   Read ────► barrier: the head's revision as of now ──► wait until memory has it ──► read memory
//
// All public functions are thread-safe. Callbacks run on the lane's threads and must not block.
template <class State>
class CommitLane {
 public:
  using Change = typename State::Change;
  // Decides one command. May run several times (the transaction may be tried again), so it must
  // depend on its arguments and captured values alone, and overwrite what it left before. An error
  // takes back what it put on the staged state. `now` is the database's time, read with the head locked,
  // and never before the last commit's.
  using Decide = absl::AnyInvocable<absl::Status(StagedState<State>&, absl::Time now)>;
  // Called once: OK after the commit (or at once with the batch if the command changed nothing),
  // with the revision that the answer shows. Errors: Decide's own; UNAVAILABLE nothing was written,
  // try again; DEADLINE_EXCEEDED it waited too long; UNKNOWN the process stops before the outcome
  // was settled; INTERNAL the tables refused what the core decided.
  using Done = absl::AnyInvocable<void(const absl::Status&, int64_t revision)>;
  // `state` is null unless the status is OK, and must not be kept.
  using ReadDone =
      absl::AnyInvocable<void(const absl::Status&, const State* state, int64_t revision)>;
  // Told of every published change, own or another replica's, in order. An empty span: everything
  // may have changed.
  using Subscriber = std::function<void(absl::Span<const Revised<Change>>)>;

  // Loads the state and starts. `clock`, unless null, stands in for the database's (tests); it and
  // `store` must outlive the lane. UNAVAILABLE: the database is away.
  static absl::StatusOr<std::unique_ptr<CommitLane>> Create(LaneOptions options,
                                                            const Store<State>* store,
                                                            const Clock* clock = nullptr) {
    auto lane = std::unique_ptr<CommitLane>(new CommitLane(std::move(options), store, clock));
    RETURN_IF_ERROR(lane->Load(lane->memory_.working(), lane->memory_.at()));
    lane->memory_.PublishAll();
    lane->Start();
    return lane;
  }
  ~CommitLane() { Stop(); }

  // No command and no read is taken any more, and what waits is answered UNAVAILABLE: nothing of it
  // was done. A batch that runs goes on, and is answered when it ends. Idempotent.
  void StopIntake();
  // The same, then watches end with UNAVAILABLE and threads end. Idempotent.
  void Stop();

  // `incarnation`, unless empty, is of the history that the command was made from (PeekAt): in
  // another one it is not decided but answered UNAVAILABLE. So is whatever meets the loss of a
  // history: what it was made from may be gone.
  void Submit(Decide decide, Done done, absl::Time deadline = absl::InfiniteFuture(),
              std::string incarnation = {});

  // A linearizable read: `done` sees every change that was committed before the call.
  void Read(ReadDone done, absl::Time deadline = absl::InfiniteFuture()) {
    reads_.Read(
        // Where the status is OK, memory is held for reading.
        [this, done = std::move(done)](const absl::Status& status)
            ABSL_NO_THREAD_SAFETY_ANALYSIS mutable {
              if (!status.ok()) return done(status, nullptr, 0);
              done(status, &memory_.held(), memory_.held_at().revision);
            },
        deadline);
  }

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
    return watch_starts_.Watch(std::move(options));
  }

  // To be called before the first Submit; lives as long as the lane.
  void Subscribe(Subscriber subscriber) {
    MutexLock lock(mutex_);
    subscribers_.push_back(std::move(subscriber));
  }

  // Whether the database answered when it was last asked (at most LaneOptions::poll ago), and
  // memory is not being loaded anew.
  bool ready() const { return db_.ready() && !loading_; }
  int64_t revision() const { return memory_.served_revision(); }
  LaneStats stats() const;

  // What time it is for decisions: the database's at the last head, and steadily on from there. For
  // whoever thinks about time beside commands. Lives as long as the lane.
  const Clock& clock() const { return clock_; }

  // Memory = tables = journal, at one revision. Holds nobody up. Blocks; costs four copies of the
  // state. UNAVAILABLE: the database is away.
  absl::StatusOr<Comparison> Compare();

  // Audits memory without holding anybody up: beside the tables, both at one revision, and by the
  // domain's own `check`, a sentence for each thing that is wrong. Blocks; costs two copies of the
  // state. UNAVAILABLE: the database is away.
  using Check = std::function<std::vector<std::string>(const State&)>;
  absl::StatusOr<AuditReport> Audit(const Check& check);

  // Forgets the journal up to `revision`, so that it does not grow for ever. Blocks.
  absl::Status Compact(int64_t revision) { return db_.Compact(revision); }
  // The lane does so by itself with what is older than LaneOptions::journal_keep, a chunk at a
  // time. True: there is more.
  absl::StatusOr<bool> CompactSome() { return db_.CompactSome(); }

 private:
  struct Command {
    Decide decide;
    Done done;
    absl::Time deadline;
    std::string incarnation = {};
    absl::Status status = {};
  };
  // Commands that were committed, or failed, together.
  struct Answered {
    std::vector<Command> batch;
    absl::Status status;
    int64_t shown = 0;
  };
  using Entries = std::vector<Revised<Change>>;

  CommitLane(LaneOptions options, const Store<State>* store, const Clock* clock)
      : options_(WithDoubtHook(std::move(options))),
        store_(*store),
        clock_(clock),
        db_(options_),
        reads_(options_, db_, memory_, [this] { Poke(); }),
        watch_starts_(
            options_, db_, memory_, watchers_,
            [this](const Watcher& watcher) { return SnapshotOf(memory_, store_, watcher); },
            [this] { Poke(); }) {}

  void Start();
  // While the outcome of a batch is unknown, nobody should wait behind it.
  LaneOptions WithDoubtHook(LaneOptions options) {
    options.runner.on_doubt = [this] {
      db_.set_ready(false);
      FailQueued(error::Unavailable("The database is away."));
    };
    return options;
  }

  // The lane looks at the head soon.
  void Poke();

  // --- the lane's thread ---
  void RunLane();
  void RunBatch(std::vector<Command> batch);
  // Commits `batch`; where the tables refuse it, halves of it, each for itself. Answers what is
  // settled, all of it in the end.
  absl::Status CommitOrSplit(absl::Span<Command> batch);
  void Answer(absl::Span<Command> batch, const absl::Status& status, int64_t shown);
  absl::Status TryBatch(absl::Span<Command> batch, int64_t& shown);
  static absl::Status HistoryLost() {
    return error::Unavailable("The database lost the history that this was asked in.");
  }
  // What it wrote is taken back unless its status is OK. One that throws ends its own call.
  void DecideOne(Command& command, StagedState<State>& staged, absl::Time now);
  // `behind`: nothing was tried, memory must be brought level first, without the head's lock.
  absl::Status TryLevelBatch(absl::Span<Command> batch, int64_t& shown, bool& behind);
  void CatchUpIdle();
  void TendWatchers();
  // Brings memory level with the database, by the journal or, where that does not reach back or the
  // history was replaced, from the tables. Locks nothing while it reads.
  absl::Status Follow();
  absl::Status LoadAnew();
  // Applies the journal up to `head`, which continues what memory knows.
  absl::Status CatchUp(Transaction& tx, const Head& head);
  // The tables as they are in one snapshot.
  absl::Status Load(State& state, Position& at);
  // As the store's Load, but the session may idle while rows are taken in: between two tables that
  // is half a minute for 100,000 Nodes.
  void LoadSlowly(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const;
  static constexpr absl::Duration kLoadPatience = absl::Minutes(2);
  // How often a batch is put off because others commit faster than memory follows.
  static constexpr int kMaxFollows = 5;
  Entries LastPerKey(const Entries& changes) const;
  std::vector<JournalRow> ToJournal(const Entries& changes) const;
  // `changes` were applied to the working copy and are committed: readers and watchers see them
  // from here on.
  void Publish(const Entries& changes, const std::vector<JournalRow>& rows);
  void PublishReload(const Continuity& why);
  void FailQueued(const absl::Status& status);

  // --- whoever audits or compares ---
  // What the database has, in one snapshot, brought forward by the journal.
  struct Picture {
    State tables = {};
    State replayed = {};  // what the journal adds up to; only for Compare
    Position at = {};
    int64_t compacted_revision = 0;
    std::string gap = {};  // where the journal is broken; empty: it is whole
  };
  absl::Status ReadPicture(Picture& picture, bool with_journal);
  absl::Status Replay(Transaction& tx, Picture& picture) const;
  absl::Status Advance(Picture& picture, const Position& to);
  // Memory as a linearizable read sees it.
  absl::Status CopyState(State& copy, Position& at);
  // Both copies of the state, taken by the lane's thread between two batches.
  absl::Status CopyBoth(State& working, State& served, Position& at);

  // --- the answers' thread: while callers are told, the lane is at its next batch ---
  void RunAnswers();

  const LaneOptions options_;
  const Store<State>& store_;
  LaneClock clock_;
  LaneDb db_;

  StateCell<State> memory_;
  WatchHub watchers_;
  ReadBarrier reads_;
  WatchStarter watch_starts_;
  std::chrono::steady_clock::time_point tend_at_ = {};  // lane's thread only

  mutable Mutex mutex_;
  CondVar lane_wakes_;
  std::deque<Command> queue_ MUSTER_GUARDED_BY(mutex_);
  std::vector<Subscriber> subscribers_ MUSTER_GUARDED_BY(mutex_);
  bool poked_ MUSTER_GUARDED_BY(mutex_) = false;
  bool intake_over_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::function<void()> inspection_ MUSTER_GUARDED_BY(mutex_);

  Mutex answers_mutex_;
  CondVar answers_wake_;
  std::deque<Answered> answers_ MUSTER_GUARDED_BY(answers_mutex_);
  bool no_more_answers_ MUSTER_GUARDED_BY(answers_mutex_) = false;

  std::atomic<bool> loading_ = false;
  std::atomic<int64_t> batches_ = 0;
  std::atomic<int64_t> commands_ = 0;
  std::atomic<int64_t> changes_ = 0;
  std::atomic<int64_t> failed_batches_ = 0;
  std::atomic<int64_t> history_replaced_ = 0;

  std::thread lane_;
  std::thread answers_thread_;
};

}  // namespace muster::storage

#include "storage/postgres/lane_audit_inl.h"
#include "storage/postgres/lane_history_inl.h"
#include "storage/postgres/lane_inl.h"
