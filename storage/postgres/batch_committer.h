#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
#include "services/common/trace_context.h"
#include "services/trace/span.h"
#include "storage/postgres/answer_queue.h"
#include "storage/postgres/change_publisher.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/commit_traces.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/journal_follower.h"
#include "storage/postgres/lane_context.h"

namespace muster::storage {

// Decides and commits batches of commands, each batch in one transaction:
//
//   decide on a staged state ► move head from where memory is, store + journal, commit ► publish ► answer
//
// is one round trip, and fails where another replica wrote meanwhile; then, and for a while,
//
//   lock head ► catch up ► decide on a staged state ► ...
//
// is two, and goes through.
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

  // All of `batch` is answered. UNAVAILABLE: the database is away.
  absl::Status Commit(std::vector<LaneCommand<State>> batch);

  // Counts since the start; see LaneStats. Any thread may ask.
  int64_t batches() const { return batches_; }
  int64_t commands() const { return commands_; }
  int64_t changes() const { return changes_; }
  int64_t failed_batches() const { return failed_batches_; }

 private:
  using Change = typename State::Change;
  using Entries = std::vector<Revised<Change>>;

  // A batch in its transaction.
  struct Attempt {
    bool locks = false;  // the head first, and catches up
    const std::string batch_id = LaneDb::NewBatchId();
    absl::Time now = absl::InfinitePast();  // of its decisions
    int64_t first_revision = 0;
    std::optional<StagedState<State>> staged = {};
    size_t decided = 0;  // so many commands from the batch's first; the others are the next batch's
    std::vector<JournalRow> rows = {};  // of what is staged
    CommitTraces traces = {};           // likewise
    bool behind = false;
    bool others_wrote = false;  // since the last batch
  };

  // How often a batch is put off because others commit faster than memory follows.
  static constexpr int kMaxFollows = 5;
  // Batches that lock the head after others wrote: a try that fails costs more than it would have
  // spared.
  static constexpr int kLockingBatches = 16;

  // A span of the batch in the trace of its first command, linked to the others'; none where none is
  // wanted.
  void BeginWork(const std::vector<LaneCommand<State>>& batch,
                 std::optional<trace::Work>& work) const;
  // Commits `batch`; what is too much for one transaction in several, and where the tables refuse
  // one, halves of it, each for itself. Answers what is settled, all of it in the end.
  absl::Status CommitOrSplit(absl::Span<LaneCommand<State>> batch);
  void Answer(absl::Span<LaneCommand<State>> batch, const absl::Status& status, int64_t shown);
  // `decided`: so many of its commands the status is of.
  absl::Status TryBatch(absl::Span<LaneCommand<State>> batch, int64_t& shown, size_t& decided);
  absl::Status TryOnce(absl::Span<LaneCommand<State>> batch, int64_t& shown, Attempt& attempt);
  void Publish(const Attempt& attempt);
  // The transaction's body, which may run several times.
  absl::Status DecideAndStore(Transaction& tx, absl::Span<LaneCommand<State>> batch,
                              Attempt& attempt);
  // Locks the head and brings memory level with it. Unless OK, nothing may be decided: where
  // `attempt.behind`, memory is to be brought level first, without the head's lock.
  absl::Status Lock(Transaction& tx, Attempt& attempt);
  void Decide(absl::Span<LaneCommand<State>> batch, Attempt& attempt);
  // What it wrote is taken back unless its status is OK. One that throws ends its own call.
  void DecideOne(LaneCommand<State>& command, StagedState<State>& staged, absl::Time now);
  Entries LastPerKey(const Entries& changes) const;
  std::vector<JournalRow> ToJournal(const Entries& changes) const;
  static absl::Status HistoryLost() {
    return error::Unavailable("The database lost the history that this was asked in.");
  }

  const LaneOptions& options_;
  const Store<State>& store_;
  LaneClock& clock_;
  LaneDb& db_;
  StateCell<State>& memory_;
  Position& at_;  // of its working copy
  ChangePublisher<State>& publisher_;
  JournalFollower<State>& follower_;
  AnswerQueue<State>& answers_;
  int locking_batches_ = 0;  // to come
  std::atomic<int64_t> batches_ = 0;
  std::atomic<int64_t> commands_ = 0;
  std::atomic<int64_t> changes_ = 0;
  std::atomic<int64_t> failed_batches_ = 0;
};

template <class State>
absl::Status BatchCommitter<State>::Commit(std::vector<LaneCommand<State>> batch) {
  const absl::Time real_now = absl::Now();
  for (LaneCommand<State>& command : batch) {
    if (command.deadline < real_now)
      command.status = absl::DeadlineExceededError("The request waited too long to be committed.");
  }
  std::optional<trace::Work> work;
  BeginWork(batch, work);
  const absl::Status status = CommitOrSplit(absl::MakeSpan(batch));
  if (work && !status.ok()) work->Fail(status.message());
  return status;
}

template <class State>
void BatchCommitter<State>::BeginWork(const std::vector<LaneCommand<State>>& batch,
                                      std::optional<trace::Work>& work) const {
  if (!trace::Recording()) return;
  trace::Causes causes;
  for (const LaneCommand<State>& command : batch) causes.Add(command.trace);
  if (!causes.first().sampled()) return;
  work.emplace("commit " + options_.connect.schema, std::move(causes));
  work->Add("db.system.name", "postgresql");
  work->Add("db.namespace", options_.connect.schema);
  work->Add("db.operation.batch.size", static_cast<int64_t>(batch.size()));
}

template <class State>
absl::Status BatchCommitter<State>::CommitOrSplit(absl::Span<LaneCommand<State>> batch) {
  absl::Status status;
  while (!batch.empty()) {
    int64_t shown = 0;
    size_t decided = batch.size();
    status = TryBatch(batch, shown, decided);
    if (absl::IsInternal(status) && decided > 1) {
      // The tables refused something: the half without it is saved as a whole.
      decided /= 2;
      status = CommitOrSplit(batch.subspan(0, decided));
    } else {
      Answer(batch.subspan(0, decided), status, shown);
    }
    batch = batch.subspan(decided);
    if (absl::IsUnavailable(status)) break;
  }
  if (!batch.empty()) Answer(batch, status, 0);
  return status;
}

template <class State>
void BatchCommitter<State>::Answer(absl::Span<LaneCommand<State>> batch, const absl::Status& status,
                                   int64_t shown) {
  if (!status.ok()) ++failed_batches_;
  commands_ += static_cast<int64_t>(batch.size());
  answers_.Add(batch, status, shown);
}

template <class State>
absl::Status BatchCommitter<State>::TryBatch(absl::Span<LaneCommand<State>> batch, int64_t& shown,
                                             size_t& decided) {
  if (locking_batches_ == 0 && clock_.SinceHead() < options_.max_time_age) {
    Attempt attempt;
    const absl::Status status = TryOnce(batch, shown, attempt);
    if (!absl::IsFailedPrecondition(status)) {
      if (attempt.decided > 0) decided = attempt.decided;
      return status;
    }
  }
  for (int follows = 0; follows < kMaxFollows; ++follows) {
    Attempt attempt{.locks = true};
    const absl::Status status = TryOnce(batch, shown, attempt);
    if (attempt.others_wrote) locking_batches_ = kLockingBatches;
    if (!attempt.behind && !absl::IsFailedPrecondition(status)) {
      locking_batches_ = std::max(locking_batches_ - 1, 0);
      if (attempt.decided > 0) decided = attempt.decided;
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
absl::Status BatchCommitter<State>::TryOnce(absl::Span<LaneCommand<State>> batch, int64_t& shown,
                                            Attempt& attempt) {
  const absl::Status status =
      db_.Write([&](Transaction& tx) { return DecideAndStore(tx, batch, attempt); },
                &attempt.first_revision, &attempt.batch_id);
  std::optional<StagedState<State>>& staged = attempt.staged;
  if (!status.ok()) {
    if (staged.has_value()) staged->RollBack();
    return status;
  }
  shown = at_.revision = staged->revision();
  if (!attempt.rows.empty()) Publish(attempt);
  return status;
}

template <class State>
void BatchCommitter<State>::Publish(const Attempt& attempt) {
  at_.batch = attempt.batch_id;
  clock_.Committed(attempt.now);
  ++batches_;
  changes_ += static_cast<int64_t>(attempt.rows.size());
  options_.Yield(LanePoint::kBeforePublish);
  {
    const CommitTraces::Publishing publishing(attempt.traces);
    publisher_.Publish(attempt.staged->changes(), attempt.rows);
  }
  db_.Announce(at_.revision);
}

template <class State>
absl::Status BatchCommitter<State>::DecideAndStore(Transaction& tx,
                                                   absl::Span<LaneCommand<State>> batch,
                                                   Attempt& attempt) {
  std::optional<StagedState<State>>& staged = attempt.staged;
  if (staged.has_value()) staged->RollBack();
  staged.reset();
  attempt.rows.clear();
  attempt.traces.Clear();
  attempt.now = clock_.Now();
  if (attempt.locks) RETURN_IF_ERROR(Lock(tx, attempt));
  staged.emplace(memory_.working(), at_.revision);
  attempt.first_revision = at_.revision + 1;
  Decide(batch, attempt);
  if (staged->changes().empty()) {
    // Also what changes nothing is decided by all that was committed before.
    if (attempt.locks || Position::Of(journal::Lock(tx, at_.revision)) == at_)
      return absl::OkStatus();
    return absl::FailedPreconditionError("The head is elsewhere.");
  }
  journal::Move(tx, at_, staged->revision(), attempt.batch_id, attempt.now);
  store_.Write(tx, LastPerKey(staged->changes()));
  attempt.rows = ToJournal(staged->changes());
  journal::Append(tx, attempt.rows, attempt.batch_id);
  return absl::OkStatus();
}

template <class State>
absl::Status BatchCommitter<State>::Lock(Transaction& tx, Attempt& attempt) {
  const Head head = journal::Lock(tx, at_.revision);
  attempt.others_wrote = Position::Of(head) != at_;
  attempt.behind =
      !Judge(at_, head).continues() || head.revision - at_.revision > options_.catch_up_chunk;
  if (attempt.behind) return absl::CancelledError("Memory is not level with the journal.");
  RETURN_IF_ERROR(follower_.CatchUp(tx, head));
  attempt.now = clock_.Take(head);
  return absl::OkStatus();
}

template <class State>
void BatchCommitter<State>::Decide(absl::Span<LaneCommand<State>> batch, Attempt& attempt) {
  const absl::Duration began = TheSteadyClock()->Now();
  attempt.decided = 0;
  for (LaneCommand<State>& command : batch) {
    if (attempt.decided > 0 && (attempt.staged->changes().size() >= options_.max_batch_changes ||
                                TheSteadyClock()->Now() - began >= options_.max_decide))
      return;
    ++attempt.decided;
    if (absl::IsDeadlineExceeded(command.status)) continue;
    if (!command.incarnation.empty() && command.incarnation != at_.incarnation) {
      command.status = HistoryLost();
      continue;
    }
    DecideOne(command, *attempt.staged, attempt.now);
    attempt.traces.Add(attempt.staged->revision(), command.trace);
  }
}

template <class State>
void BatchCommitter<State>::DecideOne(LaneCommand<State>& command, StagedState<State>& staged,
                                      absl::Time now) {
  const size_t mark = staged.Mark();
  const CurrentTrace scope(command.trace);
  try {
    command.status = command.decide(staged, now);
  } catch (const std::exception& e) {
    log::Error("a decision threw an exception", {{"error", e.what()}});
    command.status = error::WithCause(absl::InternalError("The decision failed."), e.what());
  }
  if (!command.status.ok()) staged.RollBack(mark);
}

template <class State>
typename BatchCommitter<State>::Entries BatchCommitter<State>::LastPerKey(
    const Entries& changes) const {
  // Ordered by kind and key, so that all writers lock rows in one order.
  struct Last {
    absl::string_view kind;
    absl::string_view key;
    const Revised<Change>* change;
  };
  std::vector<Last> sorted;
  sorted.reserve(changes.size());
  for (const Revised<Change>& change : changes)
    sorted.push_back({change.change.kind(), change.change.key, &change});
  std::sort(sorted.begin(), sorted.end(), [](const Last& a, const Last& b) {
    return std::tie(a.kind, a.key, a.change->revision) <
           std::tie(b.kind, b.key, b.change->revision);
  });
  Entries result;
  result.reserve(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const bool last = i + 1 == sorted.size() || sorted[i].key != sorted[i + 1].key ||
                      sorted[i].kind != sorted[i + 1].kind;
    if (last) result.push_back(*sorted[i].change);
  }
  return result;
}

template <class State>
std::vector<JournalRow> BatchCommitter<State>::ToJournal(const Entries& changes) const {
  std::vector<JournalRow> rows;
  rows.reserve(changes.size());
  for (const Revised<Change>& change : changes) {
    JournalRow row{change.revision, std::string(change.change.kind()), change.change.key};
    if (!change.change.deleted())
      row.bytes = std::make_shared<const std::string>(store_.Encode(change));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace muster::storage
