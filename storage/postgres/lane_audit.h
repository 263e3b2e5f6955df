#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/index_parts.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/auditor.h"
#include "storage/postgres/commit_queue.h"
#include "storage/postgres/compare_states.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/lane_context.h"
#include "storage/postgres/load_tables.h"
#include "storage/postgres/read_barrier.h"

namespace muster::storage {

// Holds a lane's memory against the database, on the caller's thread and without holding anybody
// up: it asks of the lane what any reader asks and, for Compare, one inspection. Thread-safe; has
// no lock.
template <class State>
class LaneAudit {
 public:
  LaneAudit(const LaneContext<State>& lane, ReadBarrier& reads, CommitQueue<State>& queue)
      : options_(lane.options),
        store_(lane.store),
        db_(lane.db),
        memory_(lane.memory),
        reads_(reads),
        queue_(queue) {}

  // See CommitLane.
  absl::StatusOr<AuditReport> Audit(const StateAudit<State>& audit);
  absl::StatusOr<Comparison> Compare();

 private:
  using Change = typename State::Change;

  // What the database has, in one snapshot, brought forward by the journal.
  struct Snapshot {
    State tables = {};
    State replayed = {};  // what the journal adds up to; only for Compare
    Position at = {};
    int64_t compacted_revision = 0;
    std::string gap = {};  // where the journal is broken; empty: it is whole
  };

  absl::Status ReadSnapshot(Snapshot& snapshot, bool with_journal);
  absl::Status Replay(Transaction& tx, Snapshot& snapshot) const;
  absl::Status Advance(Snapshot& snapshot, const Position& to);
  // Compares the rows of one kind, a piece at a time, each as of the moment that it is read at: to
  // there the tables' copy is brought.
  template <class Row>
  absl::Status AuditRows(Snapshot& snapshot, AuditReport& report);
  // Compares the parts of the indexes in the same way.
  absl::Status AuditIndexes(const std::vector<IndexPart<State>>& parts, Snapshot& snapshot,
                            AuditReport& report);
  static std::vector<Revised<Change>> RowsOf(const State& state) {
    std::vector<Revised<Change>> rows;
    rows.reserve(state.size());
    state.ForEach([&](Revised<Change> row) { rows.push_back(std::move(row)); });
    return rows;
  }
  static void AppendViolations(std::vector<std::string> found, AuditReport& report) {
    for (std::string& violation : found) {
      if (report.violations.size() < kMaxViolations)
        report.violations.push_back(std::move(violation));
    }
  }
  // The rows of both copies of the state, taken by the lane's thread between two batches: others
  // wait while pointers to them are copied, not while states are made of them.
  absl::Status CopyBoth(State& working, State& served, Position& at);

  const LaneOptions& options_;
  const Store<State>& store_;
  LaneDb& db_;
  StateCell<State>& memory_;
  ReadBarrier& reads_;
  CommitQueue<State>& queue_;
};

template <class State>
absl::Status LaneAudit<State>::ReadSnapshot(Snapshot& snapshot, bool with_journal) {
  return db_.Read([&](Transaction& tx) -> absl::Status {
    snapshot = Snapshot();
    const Head head = journal::Peek(tx, 0);
    snapshot.at = Position::Of(head);
    snapshot.compacted_revision = head.compacted_revision;
    LoadTables<State>(store_, options_, tx, [&](Revised<Change> row) {
      snapshot.tables.Apply(row.change, row.revision);
    });
    return with_journal ? Replay(tx, snapshot) : absl::OkStatus();
  });
}

template <class State>
absl::Status LaneAudit<State>::Replay(Transaction& tx, Snapshot& snapshot) const {
  for (int64_t at = snapshot.compacted_revision; at < snapshot.at.revision;) {
    const std::vector<JournalRow> rows =
        journal::Read(tx, at, snapshot.at.revision, options_.catch_up_chunk);
    if (rows.empty() || rows.front().revision != at + 1) {
      snapshot.gap = absl::StrCat("the journal has a gap after revision ", at);
      return absl::OkStatus();
    }
    for (const JournalRow& row : rows) {
      if (!store_.Knows(row.kind)) continue;
      ASSIGN_OR_RETURN(const Change change, store_.Decode(row.kind, row.key, row.bytes.get()));
      snapshot.replayed.Apply(change, row.revision);
    }
    at = rows.back().revision;
  }
  return absl::OkStatus();
}

template <class State>
absl::Status LaneAudit<State>::Advance(Snapshot& snapshot, const Position& to) {
  if (snapshot.at.incarnation != to.incarnation)
    return error::Unavailable("The history was replaced meanwhile.");
  while (snapshot.at.revision < to.revision) {
    ASSIGN_OR_RETURN(const std::vector<JournalRow> rows,
                     db_.ReadJournal(snapshot.at.revision, to.revision));
    if (rows.empty() || rows.front().revision != snapshot.at.revision + 1)
      return error::Unavailable("The journal was compacted meanwhile.");
    for (const JournalRow& row : rows) {
      if (!store_.Knows(row.kind)) continue;
      ASSIGN_OR_RETURN(const Change change, store_.Decode(row.kind, row.key, row.bytes.get()));
      snapshot.tables.Apply(change, row.revision);
      snapshot.replayed.Apply(change, row.revision);
    }
    snapshot.at.revision = rows.back().revision;
  }
  return absl::OkStatus();
}

template <class State>
absl::StatusOr<AuditReport> LaneAudit<State>::Audit(const StateAudit<State>& audit) {
  Snapshot snapshot;
  RETURN_IF_ERROR(ReadSnapshot(snapshot, false));
  // From here on memory is at that revision or later.
  RETURN_IF_ERROR(ReadNow(reads_, absl::InfiniteFuture(), [] {}));
  AuditReport report;
  absl::Status status;
  State::ForEachKind([&](auto kind) {
    if (status.ok()) status = AuditRows<typename decltype(kind)::type>(snapshot, report);
  });
  RETURN_IF_ERROR(status);
  if (audit.parts) RETURN_IF_ERROR(AuditIndexes(audit.parts(snapshot.tables), snapshot, report));
  if (audit.rules) AppendViolations(audit.rules(snapshot.tables), report);
  report.revision = snapshot.at.revision;
  return report;
}

template <class State>
template <class Row>
absl::Status LaneAudit<State>::AuditRows(Snapshot& snapshot, AuditReport& report) {
  std::string after;
  do {
    Position at;
    const RowRange<Row> memory = memory_.PeekInTurn([&](const State& state, const Position& now) {
      at = now;
      return PieceAfter(state.template table<Row>(), after);
    });
    RETURN_IF_ERROR(Advance(snapshot, at));
    const RowRange<Row> tables =
        RowsBetween(snapshot.tables.template table<Row>(), after, memory.last);
    AppendDifferences("memory beside tables", memory, tables, report.violations);
    AppendDifferences("tables beside memory", tables, memory, report.violations);
    report.resources += static_cast<int64_t>(memory.rows.size());
    after = memory.last;
    if (!after.empty()) options_.Yield(LanePoint::kNextPiece);
  } while (!after.empty());
  return absl::OkStatus();
}

template <class State>
absl::Status LaneAudit<State>::AuditIndexes(const std::vector<IndexPart<State>>& parts,
                                            Snapshot& snapshot, AuditReport& report) {
  for (const IndexPart<State>& part : parts) {
    Position at;
    const IndexComparison<State> copied =
        memory_.PeekInTurn([&](const State& state, const Position& now) {
          at = now;
          return part(state);
        });
    RETURN_IF_ERROR(Advance(snapshot, at));
    AppendViolations(copied(snapshot.tables), report);
    options_.Yield(LanePoint::kNextPiece);
  }
  return absl::OkStatus();
}

template <class State>
absl::Status LaneAudit<State>::CopyBoth(State& working, State& served, Position& at) {
  std::vector<Revised<Change>> working_rows;
  std::vector<Revised<Change>> served_rows;
  RETURN_IF_ERROR(queue_.Inspect([&] {
    working_rows = RowsOf(memory_.working());
    at = memory_.at();
    ReaderLock lock(memory_.served_mutex());
    served_rows = RowsOf(memory_.held());
  }));
  for (const Revised<Change>& row : working_rows) working.Apply(row.change, row.revision);
  for (const Revised<Change>& row : served_rows) served.Apply(row.change, row.revision);
  return absl::OkStatus();
}

template <class State>
absl::StatusOr<Comparison> LaneAudit<State>::Compare() {
  Snapshot snapshot;
  RETURN_IF_ERROR(ReadSnapshot(snapshot, true));
  Comparison result{snapshot.at.revision, static_cast<int64_t>(snapshot.tables.size()), false};
  if (!snapshot.gap.empty()) {
    result.differences.push_back(snapshot.gap);
    return result;
  }
  // Once a read has shown it, the lane's own copy is at least as new.
  RETURN_IF_ERROR(ReadNow(reads_, absl::InfiniteFuture(), [] {}));
  State working, served;
  Position at;
  RETURN_IF_ERROR(CopyBoth(working, served, at));
  RETURN_IF_ERROR(Advance(snapshot, at));
  const bool whole = snapshot.compacted_revision == 0;
  result = {at.revision, static_cast<int64_t>(working.size()), whole};
  std::vector<std::string>& differences = result.differences;
  AppendDifferences("memory beside tables", working, snapshot.tables, true, differences);
  AppendDifferences("tables beside memory", snapshot.tables, working, true, differences);
  AppendDifferences("memory beside journal", working, snapshot.replayed, whole, differences);
  AppendDifferences("journal beside memory", snapshot.replayed, working, true, differences);
  AppendDifferences("served beside memory", served, working, true, differences);
  AppendDifferences("memory beside served", working, served, true, differences);
  return result;
}

}  // namespace muster::storage
