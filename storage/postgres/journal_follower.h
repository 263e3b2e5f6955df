#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/change_publisher.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/lane_context.h"
#include "storage/postgres/load_tables.h"

namespace muster::storage {

// Keeps a lane's memory level with the database: by the journal or, where that does not reach back
// or the history was replaced, from the tables. What it takes in is published. Belongs to the
// lane's thread; has no lock.
template <class State>
class JournalFollower {
 public:
  JournalFollower(const LaneContext<State>& lane, ChangePublisher<State>& publisher)
      : options_(lane.options),
        store_(lane.store),
        clock_(lane.clock),
        db_(lane.db),
        memory_(lane.memory),
        at_(lane.memory.at()),
        publisher_(publisher) {}

  // The first load, before the lane's thread runs.
  absl::Status Begin();
  // Looks at the head, and follows the journal if the head has moved. Errors are logged.
  void CatchUpIdle();
  // Brings memory level with the database. Locks nothing while it reads.
  absl::Status Follow();
  // Applies the journal up to `head`, which continues what memory knows.
  absl::Status CatchUp(Transaction& tx, const Head& head);

  // Whether memory is being loaded anew. Any thread may ask.
  bool loading() const { return loading_; }
  // How often it was loaded anew because the database lost commits. Any thread may ask.
  int64_t history_replaced() const { return history_replaced_; }

 private:
  using Change = typename State::Change;

  absl::Status LoadAnew();
  // The first row of the batch that the last of `rows` belongs to.
  static std::vector<JournalRow>::iterator FirstOfBatch(std::vector<JournalRow>& rows);
  // Applies them, and publishes them at once.
  absl::Status Show(const std::vector<JournalRow>& rows);
  // The tables as they are in one snapshot.
  absl::Status Load(State& state, Position& at);

  const LaneOptions& options_;
  const Store<State>& store_;
  LaneClock& clock_;
  LaneDb& db_;
  StateCell<State>& memory_;
  Position& at_;  // of its working copy
  ChangePublisher<State>& publisher_;
  std::atomic<bool> loading_ = false;
  std::atomic<int64_t> history_replaced_ = 0;
};

template <class State>
absl::Status JournalFollower<State>::Begin() {
  RETURN_IF_ERROR(Load(memory_.working(), at_));
  memory_.PublishAll();
  return absl::OkStatus();
}

template <class State>
void JournalFollower<State>::CatchUpIdle() {
  const absl::StatusOr<Head> head = db_.PeekHead(at_.revision);
  db_.set_ready(head.ok());
  if (!head.ok()) return;
  clock_.Take(*head);
  if (head->revision == at_.revision && Judge(at_, *head).continues()) return;
  // What fails here is tried again at the next poll; until then whoever waits for newer memory is
  // told so.
  const absl::Status status = Follow();
  db_.set_ready(status.ok());
  if (status.ok()) return;
  log::Warn("memory cannot follow the journal",
            {{"schema", options_.connect.schema}, {"error", error::ForOperators(status)}});
}

template <class State>
absl::Status JournalFollower<State>::Follow() {
  bool anew = false;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) {
    const Head head = journal::Peek(tx, at_.revision);
    clock_.Take(head);
    anew = !Judge(at_, head).continues();
    return anew ? absl::OkStatus() : CatchUp(tx, head);
  }));
  return anew ? LoadAnew() : absl::OkStatus();
}

template <class State>
absl::Status JournalFollower<State>::LoadAnew() {
  // Who waits for memory waits on, until its deadline.
  loading_ = true;
  const absl::Cleanup loaded_or_not = [this] { loading_ = false; };
  Head truth;
  ASSIGN_OR_RETURN(const Continuity why, db_.Confirm(at_, truth));
  State loaded;
  Position at;
  if (!why.continues()) {
    log::Warn("memory is loaded anew",
              {{"schema", options_.connect.schema}, {"reason", why.reason}});
    options_.Yield(LanePoint::kBeforeLoad);
    RETURN_IF_ERROR(Load(loaded, at));
  }
  // Readers' connections may still be to a server that no longer is the one that takes writes.
  if (why.continues() || at.incarnation != truth.incarnation || at.revision < truth.revision) {
    db_.DropReaders();
    return error::Unavailable("The database's servers do not agree about its history.");
  }
  memory_.working() = std::move(loaded);
  at_ = std::move(at);
  if (why.replaced()) ++history_replaced_;
  publisher_.PublishReload(why);
  return absl::OkStatus();
}

template <class State>
absl::Status JournalFollower<State>::CatchUp(Transaction& tx, const Head& head) {
  std::vector<JournalRow> read;  // and not yet shown: batches are shown whole
  while (at_.revision < head.revision) {
    const int64_t last = read.empty() ? at_.revision : read.back().revision;
    std::vector<JournalRow> rows = journal::Read(tx, last, head.revision, options_.catch_up_chunk);
    // Ordered and without repeats: as many as there should be are all that there should be.
    if (rows.empty() || rows.back().revision != last + static_cast<int64_t>(rows.size()))
      return error::Unavailable(absl::StrCat("The journal has a gap after revision ", last, "."));
    std::move(rows.begin(), rows.end(), std::back_inserter(read));
    const bool all = read.back().revision == head.revision;
    const auto end = all ? read.end() : FirstOfBatch(read);
    RETURN_IF_ERROR(Show({std::make_move_iterator(read.begin()), std::make_move_iterator(end)}));
    read.erase(read.begin(), end);
  }
  return absl::OkStatus();
}

template <class State>
std::vector<JournalRow>::iterator JournalFollower<State>::FirstOfBatch(
    std::vector<JournalRow>& rows) {
  const std::string& batch = rows.back().batch;
  return std::find_if(rows.rbegin(), rows.rend(),
                      [&](const JournalRow& row) { return row.batch != batch; })
      .base();
}

template <class State>
absl::Status JournalFollower<State>::Show(const std::vector<JournalRow>& rows) {
  if (rows.empty()) return absl::OkStatus();
  std::vector<Revised<Change>> changes;
  for (const JournalRow& row : rows) {
    // A kind that only a later release knows.
    if (!store_.Knows(row.kind)) continue;
    absl::StatusOr<Change> change = store_.Decode(row.kind, row.key, row.bytes.get());
    // Not INTERNAL: no command is to blame. The resource is named for operators only, not for
    // callers.
    if (!change.ok()) {
      return error::WithCause(error::Unavailable(absl::StrCat("Change ", row.revision,
                                                              " of the journal cannot be read.")),
                              change.status().message());
    }
    changes.push_back({*std::move(change), row.revision});
  }
  for (const Revised<Change>& change : changes)
    memory_.working().Apply(change.change, change.revision);
  at_.revision = rows.back().revision;
  at_.batch = rows.back().batch;
  publisher_.Publish(changes, rows);
  return absl::OkStatus();
}

template <class State>
absl::Status JournalFollower<State>::Load(State& state, Position& at) {
  return db_.Read([&](Transaction& tx) {
    state = State();
    const Head head = journal::Peek(tx, 0);
    clock_.Take(head);
    at = Position::Of(head);
    LoadTables<State>(store_, options_, tx,
                      [&](Revised<Change> row) { state.Apply(row.change, row.revision); });
    return absl::OkStatus();
  });
}

}  // namespace muster::storage
