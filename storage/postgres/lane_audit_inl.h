#pragma once

// What holds memory against the database. Included by lane.h only.
#include "storage/postgres/lane.h"

namespace muster::storage {

// Appends, in a sentence each, the rows of `state` that are not so in `other`; those that `other`
// does not have at all only with `missing_too`. Stops at kMaxViolations.
template <class State>
void AppendDifferences(absl::string_view where, const State& state, const State& other,
                       bool missing_too, std::vector<std::string>& differences) {
  state.ForEach([&](const auto& row) {
    std::visit(
        [&](const auto& pointer) {
          using Row = std::remove_const_t<
              typename std::remove_reference_t<decltype(pointer)>::element_type>;
          const Versioned<Row>* twin = other.template table<Row>().FindVersioned(row.change.key);
          if (twin == nullptr && !missing_too) return;
          if (twin != nullptr && *twin->row == *pointer && twin->revision == row.revision) return;
          if (differences.size() >= kMaxViolations) return;
          differences.push_back(absl::StrCat(
              where, ": ", Row::kKind, " ", row.change.key, " at revision ", row.revision,
              twin == nullptr ? " is missing in the other"
                              : absl::StrCat(" differs from the other at ", twin->revision)));
        },
        row.change.row);
  });
}

template <class State>
absl::StatusOr<AuditReport> CommitLane<State>::Audit(const Check& check) {
  State tables;
  int64_t at = 0;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) {
    tables = State();
    at = journal::Peek(tx).revision;
    LoadSlowly(tx, [&](Revised<Change> row) { tables.Apply(row.change, row.revision); });
    return absl::OkStatus();
  }));
  // A read shows memory at that revision or later; what came between is brought to the tables'
  // copy.
  State memory;
  AuditReport report;
  RETURN_IF_ERROR(CopyState(memory, report.revision));
  while (at < report.revision) {
    ASSIGN_OR_RETURN(const std::vector<JournalRow> rows, db_.ReadJournal(at, report.revision));
    if (rows.empty() || rows.front().revision != at + 1)
      return error::Unavailable("The journal was compacted during the audit.");
    for (const JournalRow& row : rows) {
      ASSIGN_OR_RETURN(const Change change, store_.Decode(row.kind, row.key, row.bytes.get()));
      tables.Apply(change, row.revision);
    }
    at = rows.back().revision;
  }
  report.resources = static_cast<int64_t>(memory.size());
  AppendDifferences("memory beside tables", memory, tables, true, report.violations);
  AppendDifferences("tables beside memory", tables, memory, true, report.violations);
  for (std::string& violation : check(memory)) {
    if (report.violations.size() < kMaxViolations)
      report.violations.push_back(std::move(violation));
  }
  return report;
}

template <class State>
absl::Status CommitLane<State>::CopyState(State& copy, int64_t& revision) {
  struct Waiting {
    Mutex mutex;
    CondVar over;
    std::optional<absl::Status> status MUSTER_GUARDED_BY(mutex);
  };
  Waiting waiting;
  Read([&](const absl::Status& status, const State* state, int64_t at) {
    if (status.ok()) {
      copy = *state;
      revision = at;
    }
    MutexLock lock(waiting.mutex);
    waiting.status = status;
    waiting.over.Signal();
  });
  MutexLock lock(waiting.mutex);
  while (!waiting.status.has_value()) waiting.over.Wait(waiting.mutex);
  return *waiting.status;
}

template <class State>
absl::StatusOr<Comparison> CommitLane<State>::Compare() {
  absl::StatusOr<Comparison> result = error::Unavailable("The server stops.");
  Mutex done_mutex;
  CondVar done_condition;
  bool done = false;
  const auto inspection = [&] {
    const std::string no_batch;
    const int64_t no_revision = 0;
    const absl::Status status = db_.Write(
        [&](Transaction& tx) {
          result = CompareLocked(tx);
          return result.status();
        },
        &no_revision, &no_batch);
    if (!status.ok() && !absl::IsUnknown(status)) result = status;
    MutexLock lock(done_mutex);
    done = true;
    done_condition.Signal();
  };
  {
    MutexLock lock(mutex_);
    if (stopping_) return result;
    if (inspection_) return error::Unavailable("Another comparison runs.");
    inspection_ = inspection;
    lane_wakes_.Signal();
  }
  while (true) {
    MutexLock lock(done_mutex);
    if (done) return result;
    done_condition.WaitFor(done_mutex, absl::Milliseconds(100));
    if (done) return result;
    MutexLock lane_lock(mutex_);
    // Not begun and never to begin: take it back. Begun: wait for its end.
    if (stopping_ && inspection_) {
      inspection_ = nullptr;
      return result;
    }
  }
}

template <class State>
absl::StatusOr<Comparison> CommitLane<State>::CompareLocked(Transaction& tx) {
  const Head head = journal::Lock(tx);
  RETURN_IF_ERROR(CatchUp(tx, head));
  State tables;
  LoadSlowly(tx, [&](Revised<Change> row) { tables.Apply(row.change, row.revision); });
  State replayed;
  for (int64_t at = head.compacted_revision; at < head.revision;) {
    const std::vector<JournalRow> rows =
        journal::Read(tx, at, head.revision, options_.catch_up_chunk);
    if (rows.empty() || rows.front().revision != at + 1) {
      return Comparison{
          head.revision, 0, false, {absl::StrCat("the journal has a gap after revision ", at)}};
    }
    for (const JournalRow& row : rows) {
      ASSIGN_OR_RETURN(const Change change, store_.Decode(row.kind, row.key, row.bytes.get()));
      replayed.Apply(change, row.revision);
    }
    at = rows.back().revision;
  }
  Comparison result{head.revision, static_cast<int64_t>(working_.size()),
                    head.compacted_revision == 0};
  AppendDifferences("memory beside tables", working_, tables, true, result.differences);
  AppendDifferences("tables beside memory", tables, working_, true, result.differences);
  AppendDifferences("memory beside journal", working_, replayed, result.whole_journal,
                    result.differences);
  AppendDifferences("journal beside memory", replayed, working_, true, result.differences);
  ReaderLock lock(served_mutex_);
  AppendDifferences("served beside memory", served_, working_, true, result.differences);
  AppendDifferences("memory beside served", working_, served_, true, result.differences);
  return result;
}

}  // namespace muster::storage
