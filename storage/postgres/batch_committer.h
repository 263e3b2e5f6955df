#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/error.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "services/trace/span.h"
#include "storage/postgres/answer_queue.h"
#include "storage/postgres/batch.h"
#include "storage/postgres/change_publisher.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/journal_follower.h"
#include "storage/postgres/lane_context.h"

namespace muster::storage {

// Decides and commits batches of commands, each batch in one transaction, as a pipeline of two: while
// one batch is on its way to the database and back, the next is decided on top of it.
//
//   taken ──► open ──────────────────────────────────────────► sent ─────────────► settled
//             decided on what is sent, as long as that is out   moves the head      published, answered
//
// A batch that is sent is one round trip, and fails where another replica wrote meanwhile. What stands
// on one that failed is taken back and decided again. Nobody is answered before his own commit.
// Whatever is to be tried again, and for a while all that comes after another replica wrote, is
// committed alone:
//
//   lock head ► catch up ► decide ► store, commit ► publish ► answer
//
// which is two round trips, and goes through.
//
// Belongs to the lane's thread; has no lock.
template <class State>
class BatchCommitter {
 public:
  BatchCommitter(const LaneContext<State>& lane, ChangePublisher<State>& publisher,
                 JournalFollower<State>& follower, AnswerQueue<State>& answers)
      : options_(lane.options),
        store_(lane.store),
        clock_(lane.clock),
        db_(lane.db),
        memory_(lane.memory),
        at_(lane.memory.at()),
        publisher_(publisher),
        follower_(follower),
        answers_(answers) {}

  // So many commands may be handed to Advance.
  size_t room() const;
  // Becomes readable when what is sent is to be settled; -1: there is nothing to wait for.
  int socket() const { return sent_ == nullptr ? -1 : sent_->transaction->socket(); }
  // Nothing is under way: memory may be changed by others.
  bool idle() const { return sent_ == nullptr && open_ == nullptr && taken_.empty(); }

  // Takes `commands`, settles what is sent if it is `answered`, and goes on as far as that goes
  // without waiting. All that was taken is answered in the end. UNAVAILABLE: the database is away;
  // nothing is under way any more.
  absl::Status Advance(std::vector<LaneCommand<State>> commands, bool answered);
  // Waits until nothing is under way. As Advance.
  absl::Status Drain();
  // Waits for what is sent; whatever else is under way is answered with `status`, as not done.
  void Finish(const absl::Status& status);
  // Answers with `status`, as not done, what is not sent.
  void FailUnsent(const absl::Status& status);

  // Counts since the start; see LaneStats. Any thread may ask.
  int64_t batches() const { return batches_; }
  int64_t commands() const { return commands_; }
  int64_t changes() const { return changes_; }
  int64_t failed_batches() const { return failed_batches_; }

 private:
  using Commands = std::vector<LaneCommand<State>>;

  // A batch with its commands, decided.
  struct Pending {
    Pending(State& state, Position from, absl::Time now) : batch(state, std::move(from), now) {}

    Batch<State> batch;
    Commands commands = {};
    absl::Time began = absl::Now();
    std::optional<TransactionRunner::Sent> transaction = {};  // of what is sent
  };

  // How often a batch is put off because others commit faster than memory follows.
  static constexpr int kMaxFollows = 5;
  // Batches that lock the head after others wrote: a try that fails costs more than it would have
  // spared.
  static constexpr int kLockingBatches = 16;

  // --- as a pipeline ---

  // Whether the next batch is to lock the head.
  bool MustLock() const {
    return locking_batches_ > 0 || clock_.SinceHead() >= options_.max_time_age;
  }
  absl::Status GoOn();
  // Decides what was taken, as much as one transaction should hold.
  void Fill();
  void SendOpen();
  // What is sent is done or has failed; then what stands on it is to be decided again.
  absl::Status Settle();
  void TakeBackOpen();
  static void MarkLate(Commands& commands);

  // --- alone ---

  absl::Status CommitTaken();
  // Commits `commands`; what is too much for one transaction in several, and where the tables refuse
  // one, halves of it, each for itself. Answers what is settled, all of it in the end.
  absl::Status CommitAlone(absl::Span<LaneCommand<State>> commands);
  // The tables refused something: the half without it is saved as a whole.
  absl::Status CommitHalves(absl::Span<LaneCommand<State>> commands);
  // `decided`: so many of the commands the status is of.
  absl::Status CommitLocked(absl::Span<LaneCommand<State>> commands, int64_t& shown,
                            size_t& decided);
  // A try of that.
  struct Attempt {
    std::unique_ptr<Batch<State>> batch = {};
    int64_t first_revision = 0;
    std::string id = {};
    bool behind = false;        // memory is to be brought level first, without the head's lock
    bool others_wrote = false;  // since the last batch
  };
  absl::Status TryLocked(absl::Span<LaneCommand<State>> commands, int64_t& shown, Attempt& attempt);
  // The transaction's body, which may run several times.
  absl::Status DecideAndStore(Transaction& tx, absl::Span<LaneCommand<State>> commands,
                              Attempt& attempt);
  // Locks the head and brings memory level with it. Unless OK, nothing may be decided.
  absl::StatusOr<absl::Time> Lock(Transaction& tx, Attempt& attempt);

  // --- both ---

  // The batch is committed.
  void Publish(const Batch<State>& batch);
  void Answer(absl::Span<LaneCommand<State>> commands, const absl::Status& status, int64_t shown);
  // A span of the batch in the trace of its first command, linked to the others'; none where none is
  // wanted.
  void RecordWork(absl::Span<const LaneCommand<State>> commands, absl::Time began,
                  const absl::Status& status) const;

  const LaneOptions& options_;
  const Store<State>& store_;
  LaneClock& clock_;
  LaneDb& db_;
  StateCell<State>& memory_;
  Position& at_;  // of its working copy, without what is under way
  ChangePublisher<State>& publisher_;
  JournalFollower<State>& follower_;
  AnswerQueue<State>& answers_;
  std::deque<LaneCommand<State>> taken_;  // and not decided
  std::unique_ptr<Pending> sent_;
  std::unique_ptr<Pending> open_;  // on top of what is sent
  int locking_batches_ = 0;        // to come
  std::atomic<int64_t> batches_ = 0;
  std::atomic<int64_t> commands_ = 0;
  std::atomic<int64_t> changes_ = 0;
  std::atomic<int64_t> failed_batches_ = 0;
};

// --- as a pipeline ---

template <class State>
size_t BatchCommitter<State>::room() const {
  if (!taken_.empty() || (open_ != nullptr && open_->batch.Full(options_))) return 0;
  return sent_ == nullptr ? options_.max_batch : options_.decide_ahead;
}

template <class State>
absl::Status BatchCommitter<State>::Advance(Commands commands, bool answered) {
  MarkLate(commands);
  taken_.insert(taken_.end(), std::make_move_iterator(commands.begin()),
                std::make_move_iterator(commands.end()));
  if (answered && sent_ != nullptr) RETURN_IF_ERROR(Settle());
  return GoOn();
}

template <class State>
absl::Status BatchCommitter<State>::GoOn() {
  while (true) {
    if (sent_ == nullptr && open_ != nullptr) SendOpen();
    // It could not be sent: why, is said at once.
    if (sent_ != nullptr && sent_->transaction->socket() < 0) RETURN_IF_ERROR(Settle());
    if (taken_.empty() || (open_ != nullptr && open_->batch.Full(options_))) {
      if (sent_ != nullptr || open_ == nullptr) return absl::OkStatus();
    } else if (open_ == nullptr && MustLock()) {
      if (sent_ != nullptr) return absl::OkStatus();
      RETURN_IF_ERROR(CommitTaken());
    } else {
      Fill();
    }
  }
}

template <class State>
void BatchCommitter<State>::Fill() {
  if (open_ == nullptr) {
    const absl::Time now = clock_.Now();
    open_ = sent_ == nullptr ? std::make_unique<Pending>(memory_.working(), at_, now)
                             : std::make_unique<Pending>(memory_.working(), sent_->batch.after(),
                                                         std::max(now, sent_->batch.now()));
  }
  while (!taken_.empty() && !open_->batch.Full(options_)) {
    open_->batch.Decide(taken_.front());
    open_->commands.push_back(std::move(taken_.front()));
    taken_.pop_front();
  }
}

template <class State>
void BatchCommitter<State>::SendOpen() {
  sent_ = std::move(open_);
  sent_->transaction = db_.Send([&](Transaction& tx) {
    sent_->batch.Store(tx, store_);
    return absl::OkStatus();
  });
}

template <class State>
absl::Status BatchCommitter<State>::Settle() {
  const std::unique_ptr<Pending> sent = std::move(sent_);
  Batch<State>& batch = sent->batch;
  bool again = false;
  const absl::Status status =
      db_.Finish(*std::move(sent->transaction), batch.first_revision(), batch.id(), again);
  const absl::Span<LaneCommand<State>> commands = absl::MakeSpan(sent->commands);
  RecordWork(commands, sent->began, status);
  if (status.ok()) {
    Publish(batch);
    Answer(commands, status, at_.revision);
    return absl::OkStatus();
  }
  TakeBackOpen();
  batch.TakeBack();
  if (absl::IsInternal(status) && commands.size() > 1) return CommitHalves(commands);
  if (again || absl::IsFailedPrecondition(status)) return CommitAlone(commands);
  Answer(commands, status, 0);
  return absl::IsUnavailable(status) ? status : absl::OkStatus();
}

template <class State>
void BatchCommitter<State>::TakeBackOpen() {
  if (open_ == nullptr) return;
  open_->batch.TakeBack();
  taken_.insert(taken_.begin(), std::make_move_iterator(open_->commands.begin()),
                std::make_move_iterator(open_->commands.end()));
  open_ = nullptr;
}

template <class State>
absl::Status BatchCommitter<State>::Drain() {
  absl::Status status;
  while (status.ok() && !idle()) status = sent_ == nullptr ? GoOn() : Advance({}, true);
  return status;
}

template <class State>
void BatchCommitter<State>::Finish(const absl::Status& status) {
  if (sent_ != nullptr) Settle().IgnoreError();
  FailUnsent(status);
}

template <class State>
void BatchCommitter<State>::FailUnsent(const absl::Status& status) {
  TakeBackOpen();
  Commands failed(std::make_move_iterator(taken_.begin()), std::make_move_iterator(taken_.end()));
  taken_.clear();
  if (!failed.empty()) Answer(absl::MakeSpan(failed), status, 0);
}

template <class State>
void BatchCommitter<State>::MarkLate(Commands& commands) {
  const absl::Time real_now = absl::Now();
  for (LaneCommand<State>& command : commands) {
    if (command.deadline < real_now)
      command.status = absl::DeadlineExceededError("The request waited too long to be committed.");
  }
}

// --- alone ---

template <class State>
absl::Status BatchCommitter<State>::CommitTaken() {
  const size_t count = std::min(taken_.size(), options_.max_batch);
  const auto end = taken_.begin() + static_cast<long>(count);
  Commands commands(std::make_move_iterator(taken_.begin()), std::make_move_iterator(end));
  taken_.erase(taken_.begin(), end);
  return CommitAlone(absl::MakeSpan(commands));
}

template <class State>
absl::Status BatchCommitter<State>::CommitAlone(absl::Span<LaneCommand<State>> commands) {
  absl::Status status;
  while (!commands.empty()) {
    int64_t shown = 0;
    size_t decided = commands.size();
    const absl::Time began = absl::Now();
    status = CommitLocked(commands, shown, decided);
    if (absl::IsInternal(status) && decided > 1) {
      status = CommitHalves(commands.subspan(0, decided));
    } else {
      RecordWork(commands.subspan(0, decided), began, status);
      Answer(commands.subspan(0, decided), status, shown);
    }
    commands = commands.subspan(decided);
    if (absl::IsUnavailable(status)) break;
  }
  if (!commands.empty()) Answer(commands, status, 0);
  return absl::IsUnavailable(status) ? status : absl::OkStatus();
}

template <class State>
absl::Status BatchCommitter<State>::CommitHalves(absl::Span<LaneCommand<State>> commands) {
  const size_t half = commands.size() / 2;
  const absl::Status status = CommitAlone(commands.subspan(0, half));
  if (status.ok()) return CommitAlone(commands.subspan(half));
  Answer(commands.subspan(half), status, 0);
  return status;
}

template <class State>
absl::Status BatchCommitter<State>::CommitLocked(absl::Span<LaneCommand<State>> commands,
                                                 int64_t& shown, size_t& decided) {
  for (int follows = 0; follows < kMaxFollows; ++follows) {
    Attempt attempt;
    const absl::Status status = TryLocked(commands, shown, attempt);
    if (attempt.others_wrote) locking_batches_ = kLockingBatches;
    if (!attempt.behind && !absl::IsFailedPrecondition(status)) {
      locking_batches_ = std::max(locking_batches_ - 1, 0);
      if (attempt.batch != nullptr) decided = attempt.batch->decided();
      return status;
    }
    const int64_t replaced = follower_.history_replaced();
    RETURN_IF_ERROR(follower_.Follow());
    if (follower_.history_replaced() != replaced) return HistoryLost();
  }
  db_.DropReaders();
  return error::Unavailable("Memory cannot follow the journal.");
}

template <class State>
absl::Status BatchCommitter<State>::TryLocked(absl::Span<LaneCommand<State>> commands,
                                              int64_t& shown, Attempt& attempt) {
  const absl::Status status =
      db_.Write([&](Transaction& tx) { return DecideAndStore(tx, commands, attempt); },
                &attempt.first_revision, &attempt.id);
  if (!status.ok()) {
    if (attempt.batch != nullptr) attempt.batch->TakeBack();
    return status;
  }
  Publish(*attempt.batch);
  shown = at_.revision;
  return status;
}

template <class State>
absl::Status BatchCommitter<State>::DecideAndStore(Transaction& tx,
                                                   absl::Span<LaneCommand<State>> commands,
                                                   Attempt& attempt) {
  if (attempt.batch != nullptr) attempt.batch->TakeBack();
  attempt.batch = nullptr;
  ASSIGN_OR_RETURN(const absl::Time now, Lock(tx, attempt));
  attempt.batch = std::make_unique<Batch<State>>(memory_.working(), at_, now);
  attempt.first_revision = attempt.batch->first_revision();
  attempt.id = attempt.batch->id();
  for (LaneCommand<State>& command : commands) {
    if (attempt.batch->Full(options_)) break;
    attempt.batch->Decide(command);
  }
  if (!attempt.batch->changes().empty()) attempt.batch->Store(tx, store_);
  return absl::OkStatus();
}

template <class State>
absl::StatusOr<absl::Time> BatchCommitter<State>::Lock(Transaction& tx, Attempt& attempt) {
  const Head head = journal::Lock(tx, at_.revision);
  attempt.others_wrote = Position::Of(head) != at_;
  attempt.behind =
      !Judge(at_, head).continues() || head.revision - at_.revision > options_.catch_up_chunk;
  if (attempt.behind) return absl::CancelledError("Memory is not level with the journal.");
  RETURN_IF_ERROR(follower_.CatchUp(tx, head));
  return clock_.Take(head);
}

// --- both ---

template <class State>
void BatchCommitter<State>::Publish(const Batch<State>& batch) {
  if (batch.changes().empty()) return;
  at_ = batch.after();
  clock_.Committed(batch.now());
  ++batches_;
  changes_ += static_cast<int64_t>(batch.rows().size());
  options_.Yield(LanePoint::kBeforePublish);
  {
    const CommitTraces::Publishing publishing(batch.traces());
    publisher_.Publish(batch.changes(), batch.rows());
  }
  db_.Announce(at_.revision);
}

template <class State>
void BatchCommitter<State>::Answer(absl::Span<LaneCommand<State>> commands,
                                   const absl::Status& status, int64_t shown) {
  if (!status.ok()) ++failed_batches_;
  db_.set_ready(!absl::IsUnavailable(status));
  commands_ += static_cast<int64_t>(commands.size());
  answers_.Add(commands, status, shown);
}

template <class State>
void BatchCommitter<State>::RecordWork(absl::Span<const LaneCommand<State>> commands,
                                       absl::Time began, const absl::Status& status) const {
  if (!trace::Recording()) return;
  trace::Causes causes;
  for (const LaneCommand<State>& command : commands) causes.Add(command.trace);
  if (!causes.first().sampled()) return;
  trace::Record({.name = "commit " + options_.connect.schema,
                 .context = trace::ChildOf(causes.first()),
                 .parent_span_id = causes.first().span_id,
                 .start = began,
                 .end = absl::Now(),
                 .attributes = {{"db.system.name", "postgresql"},
                                {"db.namespace", options_.connect.schema},
                                {"db.operation.batch.size", static_cast<int64_t>(commands.size())}},
                 .links = std::move(causes).others(),
                 .failed = !status.ok(),
                 .message = std::string(status.message())});
}

}  // namespace muster::storage
