#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
#include "services/common/trace_context.h"
#include "storage/postgres/commit_authors.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/commit_traces.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/statement_list.h"
#include "storage/postgres/store.h"

namespace muster::storage {

// What is decided to be committed in one transaction, staged on the lane's working state. Several
// may be staged on one another; they are taken back from the last on.
template <class State>
class Batch {
 public:
  // Commands are decided on `state`, which is at `from` and must outlive this, as of the time
  // `now`.
  Batch(State& state, Position from, absl::Time now)
      : from_(std::move(from)), now_(now), staged_(state, from_.revision) {}

  // Decides `command` and sets its status; unless that is OK, what it wrote is taken back. A
  // decision that throws is INTERNAL, for its own caller alone.
  void Decide(LaneCommand<State>& command);
  // Whether another command should wait for another transaction; never before the first.
  bool Full(const LaneOptions& options) const {
    return encoded_.has_value() || decided_ >= options.max_batch ||
           (decided_ > 0 && (staged_.changes().size() >= options.max_batch_changes ||
                             spent_ >= options.max_decide));
  }

  bool encoded() const { return encoded_.has_value(); }
  // Makes the statements that store the batch, and rows(); a second call returns what the first
  // did. Nothing can be decided thereafter. INTERNAL: something in it cannot be written, or it is
  // of several commands and its statements have more than `max_batch_bytes`.
  absl::Status Encode(const storage::Store<State>& store, const LaneOptions& options);
  // Encodes the batch, and hands its statements to `tx`; to be called once. Errors as of Encode;
  // throws what libpqxx throws.
  absl::Status Store(Transaction& tx, const storage::Store<State>& store,
                     const LaneOptions& options);
  void TakeBack() { staged_.RollBack(); }

  const std::string& id() const { return id_; }
  const Position& from() const { return from_; }
  // Where the history is when this is committed.
  Position after() const {
    return changes().empty() ? from_ : Position{from_.incarnation, staged_.revision(), id_};
  }
  int64_t first_revision() const { return from_.revision + 1; }
  absl::Time now() const { return now_; }
  size_t decided() const { return decided_; }
  const std::vector<Revised<typename State::Change>>& changes() const { return staged_.changes(); }
  // The same as the journal has them, after Encode.
  const std::vector<JournalRow>& rows() const { return rows_; }
  const CommitTraces& traces() const { return traces_; }

 private:
  using Entries = std::vector<Revised<typename State::Change>>;

  absl::Status Run(LaneCommand<State>& command);
  Entries LastPerKey() const;
  std::vector<JournalRow> ToJournal(const storage::Store<State>& store) const;

  const std::string id_ = LaneDb::NewBatchId();
  const Position from_;
  const absl::Time now_;
  StagedState<State> staged_;
  size_t decided_ = 0;
  absl::Duration spent_ = absl::ZeroDuration();  // on decisions
  std::optional<absl::Status> encoded_;          // what Encode said
  StatementList statements_;
  std::vector<JournalRow> rows_;
  CommitTraces traces_;
  CommitAuthors authors_;
};

template <class State>
void Batch<State>::Decide(LaneCommand<State>& command) {
  const absl::Duration began = TheSteadyClock()->Now();
  ++decided_;
  if (absl::IsDeadlineExceeded(command.status)) return;
  if (!command.incarnation.empty() && command.incarnation != from_.incarnation) {
    command.status = HistoryLost();
    return;
  }
  const size_t mark = staged_.Mark();
  command.status = Run(command);
  if (!command.status.ok()) staged_.RollBack(mark);
  traces_.Add(staged_.revision(), command.trace);
  if (staged_.Mark() > mark) authors_.Add(staged_.revision(), command.author, command.trace);
  spent_ += TheSteadyClock()->Now() - began;
}

template <class State>
absl::Status Batch<State>::Run(LaneCommand<State>& command) {
  const CurrentTrace scope(command.trace);
  try {
    return command.decide(staged_, now_);
  } catch (const std::exception& e) {
    log::Error("a decision threw an exception", {{"error", e.what()}});
    return error::WithCause(absl::InternalError("The decision failed."), e.what());
  }
}

template <class State>
absl::Status Batch<State>::Encode(const storage::Store<State>& store, const LaneOptions& options) {
  if (encoded_) return *encoded_;
  encoded_ = absl::OkStatus();
  try {
    if (changes().empty()) {
      // It too is decided by all that was committed before.
      journal::Expect(statements_, from_);
    } else {
      journal::Move(statements_, from_, staged_.revision(), id_, now_);
      store.Write(statements_, LastPerKey());
      rows_ = ToJournal(store);
      journal::Append(statements_, rows_, id_, authors_.Encode(), now_, options.journal_packing);
    }
    if (decided_ > 1 && statements_.bytes() > options.max_batch_bytes)
      encoded_ = absl::InternalError("Too much for one transaction.");
  } catch (const std::exception& e) {
    encoded_ = error::WithCause(absl::InternalError("A change cannot be written."), e.what());
  }
  return *encoded_;
}

template <class State>
absl::Status Batch<State>::Store(Transaction& tx, const storage::Store<State>& store,
                                 const LaneOptions& options) {
  RETURN_IF_ERROR(Encode(store, options));
  if (changes().empty()) journal::ChangesNothing(tx);
  journal::Say(tx, statements_);
  return absl::OkStatus();
}

template <class State>
typename Batch<State>::Entries Batch<State>::LastPerKey() const {
  // Ordered by kind and key, so that all writers lock rows in one order.
  struct Last {
    absl::string_view kind;
    absl::string_view key;
    const Revised<typename State::Change>* change;
  };
  std::vector<Last> sorted;
  sorted.reserve(changes().size());
  for (const auto& change : changes())
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
std::vector<JournalRow> Batch<State>::ToJournal(const storage::Store<State>& store) const {
  std::vector<JournalRow> rows;
  rows.reserve(changes().size());
  for (size_t i = 0; i < changes().size(); ++i) {
    const auto& change = changes()[i];
    JournalRow row{change.revision, std::string(change.change.kind()), change.change.key};
    row.previous = staged_.before(i).revision;
    if (!change.change.deleted())
      row.bytes = std::make_shared<const std::string>(store.Encode(change));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace muster::storage
