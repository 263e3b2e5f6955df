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
#include "storage/postgres/answer_queue.h"
#include "storage/postgres/change_publisher.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/journal_follower.h"
#include "storage/postgres/lane_context.h"

namespace muster::storage {

// Decides and commits batches of commands, each batch in one transaction:
//
//   lock head ► catch up ► decide on a staged state ► store + journal ► commit ► publish ► answer
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
    const std::string batch_id = LaneDb::NewBatchId();
    int64_t first_revision = 0;
    std::optional<StagedState<State>> staged = {};
    std::vector<JournalRow> rows = {};  // of what is staged
    bool behind = false;
  };

  // How often a batch is put off because others commit faster than memory follows.
  static constexpr int kMaxFollows = 5;

  // Commits `batch`; where the tables refuse it, halves of it, each for itself. Answers what is
  // settled, all of it in the end.
  absl::Status CommitOrSplit(absl::Span<LaneCommand<State>> batch);
  void Answer(absl::Span<LaneCommand<State>> batch, const absl::Status& status, int64_t shown);
  absl::Status TryBatch(absl::Span<LaneCommand<State>> batch, int64_t& shown);
  // `behind`: nothing was tried, memory must be brought level first, without the head's lock.
  absl::Status TryLevelBatch(absl::Span<LaneCommand<State>> batch, int64_t& shown, bool& behind);
  // The transaction's body, which may run several times.
  absl::Status DecideAndStore(Transaction& tx, absl::Span<LaneCommand<State>> batch,
                              Attempt& attempt);
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
  return CommitOrSplit(absl::MakeSpan(batch));
}

template <class State>
absl::Status BatchCommitter<State>::CommitOrSplit(absl::Span<LaneCommand<State>> batch) {
  int64_t shown = 0;
  absl::Status status = TryBatch(batch, shown);
  if (!absl::IsInternal(status) || batch.size() == 1) {
    Answer(batch, status, shown);
    return status;
  }
  // The tables refused something: the half without it is saved as a whole.
  const size_t half = batch.size() / 2;
  status = CommitOrSplit(batch.subspan(0, half));
  if (!absl::IsUnavailable(status)) return CommitOrSplit(batch.subspan(half));
  Answer(batch.subspan(half), status, 0);
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
absl::Status BatchCommitter<State>::TryBatch(absl::Span<LaneCommand<State>> batch, int64_t& shown) {
  for (int follows = 0; follows < kMaxFollows; ++follows) {
    bool behind = false;
    const absl::Status status = TryLevelBatch(batch, shown, behind);
    if (!behind) return status;
    const int64_t replaced = follower_.history_replaced();
    RETURN_IF_ERROR(follower_.Follow());
    if (follower_.history_replaced() != replaced) return HistoryLost();
  }
  db_.DropReaders();
  return error::Unavailable("Memory cannot follow the journal.");
}

template <class State>
absl::Status BatchCommitter<State>::TryLevelBatch(absl::Span<LaneCommand<State>> batch,
                                                  int64_t& shown, bool& behind) {
  Attempt attempt;
  const absl::Status status =
      db_.Write([&](Transaction& tx) { return DecideAndStore(tx, batch, attempt); },
                &attempt.first_revision, &attempt.batch_id);
  behind = attempt.behind;
  std::optional<StagedState<State>>& staged = attempt.staged;
  if (!status.ok()) {
    if (staged.has_value()) staged->RollBack();
    return status;
  }
  shown = at_.revision = staged->revision();
  if (attempt.rows.empty()) return status;
  at_.batch = attempt.batch_id;
  ++batches_;
  changes_ += static_cast<int64_t>(attempt.rows.size());
  options_.Yield(LanePoint::kBeforePublish);
  publisher_.Publish(staged->changes(), attempt.rows);
  db_.Announce(at_.revision);
  return status;
}

template <class State>
absl::Status BatchCommitter<State>::DecideAndStore(Transaction& tx,
                                                   absl::Span<LaneCommand<State>> batch,
                                                   Attempt& attempt) {
  std::optional<StagedState<State>>& staged = attempt.staged;
  if (staged.has_value()) staged->RollBack();
  staged.reset();
  attempt.rows.clear();
  const Head head = journal::Lock(tx, at_.revision);
  attempt.behind =
      !Judge(at_, head).continues() || head.revision - at_.revision > options_.catch_up_chunk;
  if (attempt.behind) return absl::CancelledError("Memory is not level with the journal.");
  RETURN_IF_ERROR(follower_.CatchUp(tx, head));
  staged.emplace(memory_.working(), at_.revision);
  attempt.first_revision = at_.revision + 1;
  const absl::Time now = clock_.Take(head);
  for (LaneCommand<State>& command : batch) {
    if (absl::IsDeadlineExceeded(command.status)) continue;
    if (!command.incarnation.empty() && command.incarnation != at_.incarnation) {
      command.status = HistoryLost();
      continue;
    }
    DecideOne(command, *staged, now);
  }
  if (staged->changes().empty()) return absl::OkStatus();
  store_.Write(tx, LastPerKey(staged->changes()));
  attempt.rows = ToJournal(staged->changes());
  journal::Append(tx, attempt.rows, attempt.batch_id, now);
  return absl::OkStatus();
}

template <class State>
void BatchCommitter<State>::DecideOne(LaneCommand<State>& command, StagedState<State>& staged,
                                      absl::Time now) {
  const size_t mark = staged.Mark();
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
