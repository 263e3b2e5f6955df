#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/clock.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/auditor.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/read_pacer.h"
#include "storage/postgres/store.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// The commit lane: one thread that turns what thousands of callers want into one sequence of
// batches on the journal.
//
//   Submit ──► queue ──► [ lock head ► catch up ► decide on an overlay ► store + journal ► commit ]
//   ──► publish ──► callers
//                                                                                               └──►
//                                                                                               watchers
//   Read ────► barrier: head's revision as of now ──► wait until memory has reached it ──► read
//   memory
//
// Two copies of the state share their rows: `working_`, on which decisions are made and taken back,
// belongs to the lane's thread; `served_`, behind a reader lock, is what readers see, and never
// holds anything that is not committed. All public functions are thread-safe. Callbacks run on the
// lane's threads and must not block.
template <class State>
class CommitLane {
 public:
  using Change = typename State::Change;
  // Decides one command. May run several times (the transaction may be tried again), so it must
  // depend on its arguments and captured values alone, and overwrite what it left before. An error
  // takes back what it put on the overlay.
  using Decide = absl::AnyInvocable<absl::Status(Overlay<State>&, absl::Time now)>;
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

  // Loads the state and starts. `store` and `clock` must outlive the lane. UNAVAILABLE: the
  // database is away.
  static absl::StatusOr<std::unique_ptr<CommitLane>> Create(LaneOptions options,
                                                            const Store<State>* store,
                                                            const Clock* clock) {
    auto lane = std::unique_ptr<CommitLane>(new CommitLane(std::move(options), store, clock));
    RETURN_IF_ERROR(lane->db_.Read([&](Transaction& tx) { return lane->LoadAll(tx); }));
    lane->served_ = lane->working_;
    lane->served_revision_ = lane->revision_;
    lane->Start();
    return lane;
  }
  ~CommitLane() { Stop(); }

  // What waits is answered UNAVAILABLE, watches end with UNAVAILABLE, threads end. Idempotent.
  void Stop();

  void Submit(Decide decide, Done done, absl::Time deadline = absl::InfiniteFuture());

  // A linearizable read: `done` sees every change that was committed before the call.
  void Read(ReadDone done, absl::Time deadline = absl::InfiniteFuture());

  // f(const State&, int64_t revision) on memory as it is: committed, perhaps not the newest.
  template <class F>
  auto Peek(F f) const {
    ReaderLock lock(served_mutex_);
    return f(static_cast<const State&>(served_), served_revision_.load());
  }

  // Begins a watch; see muster.type.v1.WatchStart. It ends by its own status; nothing fails here.
  std::shared_ptr<Watcher> Watch(WatchOptions options);

  // To be called before the first Submit; lives as long as the lane.
  void Subscribe(Subscriber subscriber) {
    MutexLock lock(mutex_);
    subscribers_.push_back(std::move(subscriber));
  }

  // Whether the database answered when it was last asked (at most LaneOptions::poll ago).
  bool ready() const { return ready_; }
  int64_t revision() const { return served_revision_; }
  LaneStats stats() const;

  // Memory = tables = journal, at one revision, with the head locked. Blocks; UNAVAILABLE when the
  // database is away.
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
    absl::Status status = {};
  };
  struct PendingRead {
    ReadDone done;
    absl::Time deadline;
    int64_t revision = 0;
  };
  // A batch that was committed, or failed as a whole.
  struct Answered {
    std::vector<Command> batch;
    absl::Status status;
    int64_t shown = 0;
  };
  using Entries = std::vector<Revised<Change>>;

  CommitLane(LaneOptions options, const Store<State>* store, const Clock* clock)
      : options_(WithDoubtHook(std::move(options))),
        store_(*store),
        clock_(*clock),
        db_(options_) {}

  void Start();
  // While the outcome of a batch is unknown, nobody should wait behind it.
  LaneOptions WithDoubtHook(LaneOptions options) {
    options.runner.on_doubt = [this] {
      ready_ = false;
      FailQueued(error::Unavailable("The database is away."));
    };
    return options;
  }

  // --- the lane's thread ---
  void RunLane();
  void RunBatch(std::vector<Command> batch);
  absl::Status TryBatch(absl::Span<Command> batch, int64_t& shown);
  void CatchUpIdle();
  // Brings memory to `head` within the transaction; reloads everything when the journal does not
  // reach back.
  absl::Status CatchUp(Transaction& tx, const Head& head);
  absl::Status LoadAll(Transaction& tx);
  // As the store's Load, but the session may idle while rows are taken in: between two tables that
  // is half a minute for 100,000 Nodes.
  void LoadSlowly(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const;
  static constexpr absl::Duration kLoadPatience = absl::Minutes(2);
  Entries LastPerKey(const Entries& changes) const;
  std::vector<JournalRow> ToJournal(const Entries& changes) const;
  // `changes` were applied to working_ and are committed: readers and watchers see them from here
  // on.
  void Publish(const Entries& changes, const std::vector<JournalRow>& rows);
  void PublishReload();
  void FailQueued(const absl::Status& status);
  absl::StatusOr<Comparison> CompareLocked(Transaction& tx);
  // Memory as a linearizable read sees it.
  absl::Status CopyState(State& copy, int64_t& revision);

  // --- the answers' thread: while callers are told, the lane is at its next batch ---
  void RunAnswers();

  // --- the readers' thread ---
  void RunReads();
  void AnswerReads(std::vector<PendingRead>& waiting);

  // --- the watch starters' thread ---
  void RunWatchStarts();
  void StartWatch(const std::shared_ptr<Watcher>& watcher);
  void ResumeWatch(const std::shared_ptr<Watcher>& watcher, int64_t at);
  // Copies of the matching rows, encoded one by one as the watcher takes them.
  std::function<std::optional<WatchItem>()> SnapshotOf(const Watcher& watcher) const;
  void SendToWatchers(const std::vector<JournalRow>& rows);

  const LaneOptions options_;
  const Store<State>& store_;
  const Clock& clock_;
  LaneDb db_;

  State working_;         // lane's thread only
  int64_t revision_ = 0;  // of working_ without overlay; lane's thread only

  mutable SharedMutex served_mutex_;
  State served_ MUSTER_GUARDED_BY(served_mutex_);
  std::atomic<int64_t> served_revision_ = 0;

  mutable Mutex mutex_;
  CondVar lane_wakes_;
  CondVar reads_wake_;
  CondVar watches_wake_;
  std::deque<Command> queue_ MUSTER_GUARDED_BY(mutex_);
  std::vector<PendingRead> new_reads_ MUSTER_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Watcher>> new_watches_ MUSTER_GUARDED_BY(mutex_);
  std::vector<Subscriber> subscribers_ MUSTER_GUARDED_BY(mutex_);
  bool poked_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  std::function<void()> inspection_ MUSTER_GUARDED_BY(mutex_);

  mutable Mutex watch_mutex_;  // taken before served_mutex_
  std::vector<std::shared_ptr<Watcher>> watchers_ MUSTER_GUARDED_BY(watch_mutex_);

  Mutex answers_mutex_;
  CondVar answers_wake_;
  std::deque<Answered> answers_ MUSTER_GUARDED_BY(answers_mutex_);
  bool no_more_answers_ MUSTER_GUARDED_BY(answers_mutex_) = false;

  std::atomic<bool> ready_ = true;
  std::atomic<int64_t> batches_ = 0;
  std::atomic<int64_t> commands_ = 0;
  std::atomic<int64_t> changes_ = 0;
  std::atomic<int64_t> failed_batches_ = 0;

  std::thread lane_;
  std::thread answers_thread_;
  std::thread reads_;
  std::thread watch_starts_;
};

}  // namespace muster::storage

#include "storage/postgres/lane_audit_inl.h"
#include "storage/postgres/lane_inl.h"
#include "storage/postgres/lane_reads_inl.h"
