#pragma once

// What holds memory against the database. Included by lane.h only.

namespace muster::storage {

// Applies a change of a journal that may have been compacted: what it deletes may never have been
// in it.
template <class State>
void ApplyIfKnown(State& state, const typename State::Change& change, int64_t revision) {
  const bool known = std::visit(
      [&](const auto& pointer) {
        using Row =
            std::remove_const_t<typename std::remove_reference_t<decltype(pointer)>::element_type>;
        return state.template table<Row>().Find(change.key) != nullptr;
      },
      change.row);
  if (known || !change.deleted()) state.Apply(change, revision);
}

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
absl::Status CommitLane<State>::ReadPicture(Picture& picture, bool with_journal) {
  return db_.Read([&](Transaction& tx) -> absl::Status {
    picture = Picture();
    const Head head = journal::Peek(tx, 0);
    picture.at = Position::Of(head);
    picture.compacted_revision = head.compacted_revision;
    LoadSlowly(tx, [&](Revised<Change> row) { picture.tables.Apply(row.change, row.revision); });
    return with_journal ? Replay(tx, picture) : absl::OkStatus();
  });
}

template <class State>
absl::Status CommitLane<State>::Replay(Transaction& tx, Picture& picture) const {
  for (int64_t at = picture.compacted_revision; at < picture.at.revision;) {
    const std::vector<JournalRow> rows =
        journal::Read(tx, at, picture.at.revision, options_.catch_up_chunk);
    if (rows.empty() || rows.front().revision != at + 1) {
      picture.gap = absl::StrCat("the journal has a gap after revision ", at);
      return absl::OkStatus();
    }
    for (const JournalRow& row : rows) {
      ASSIGN_OR_RETURN(const Change change, store_.Decode(row.kind, row.key, row.bytes.get()));
      ApplyIfKnown(picture.replayed, change, row.revision);
    }
    at = rows.back().revision;
  }
  return absl::OkStatus();
}

template <class State>
absl::Status CommitLane<State>::Advance(Picture& picture, const Position& to) {
  if (picture.at.incarnation != to.incarnation)
    return error::Unavailable("The history was replaced meanwhile.");
  while (picture.at.revision < to.revision) {
    ASSIGN_OR_RETURN(const std::vector<JournalRow> rows,
                     db_.ReadJournal(picture.at.revision, to.revision));
    if (rows.empty() || rows.front().revision != picture.at.revision + 1)
      return error::Unavailable("The journal was compacted meanwhile.");
    for (const JournalRow& row : rows) {
      ASSIGN_OR_RETURN(const Change change, store_.Decode(row.kind, row.key, row.bytes.get()));
      picture.tables.Apply(change, row.revision);
      ApplyIfKnown(picture.replayed, change, row.revision);
    }
    picture.at.revision = rows.back().revision;
  }
  return absl::OkStatus();
}

template <class State>
absl::StatusOr<AuditReport> CommitLane<State>::Audit(const Check& check) {
  Picture picture;
  RETURN_IF_ERROR(ReadPicture(picture, false));
  // A read shows memory at that revision or later; what came between is brought to the tables'
  // copy.
  State memory;
  Position at;
  RETURN_IF_ERROR(CopyState(memory, at));
  RETURN_IF_ERROR(Advance(picture, at));
  AuditReport report{at.revision, static_cast<int64_t>(memory.size())};
  AppendDifferences("memory beside tables", memory, picture.tables, true, report.violations);
  AppendDifferences("tables beside memory", picture.tables, memory, true, report.violations);
  for (std::string& violation : check(memory)) {
    if (report.violations.size() < kMaxViolations)
      report.violations.push_back(std::move(violation));
  }
  return report;
}

template <class State>
absl::Status CommitLane<State>::CopyState(State& copy, Position& at) {
  struct Waiting {
    Mutex mutex;
    CondVar over;
    std::optional<absl::Status> status MUSTER_GUARDED_BY(mutex);
  };
  Waiting waiting;
  // Called with the served copy held.
  Read([&](const absl::Status& status, const State* state, int64_t) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (status.ok()) {
      copy = *state;
      at = memory_.held_at();
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
absl::Status CommitLane<State>::CopyBoth(State& working, State& served, Position& at) {
  Mutex done_mutex;
  CondVar done_condition;
  bool done = false;
  const auto inspection = [&] {
    working = memory_.working();
    at = memory_.at();
    {
      ReaderLock lock(memory_.served_mutex());
      served = memory_.held();
    }
    MutexLock lock(done_mutex);
    done = true;
    done_condition.Signal();
  };
  {
    MutexLock lock(mutex_);
    if (stopping_) return error::Unavailable("The server stops.");
    if (inspection_) return error::Unavailable("Another comparison runs.");
    inspection_ = inspection;
    lane_wakes_.Signal();
  }
  while (true) {
    MutexLock lock(done_mutex);
    if (done) return absl::OkStatus();
    done_condition.WaitFor(done_mutex, absl::Milliseconds(100));
    if (done) return absl::OkStatus();
    MutexLock lane_lock(mutex_);
    // Not begun and never to begin: take it back. Begun: wait for its end.
    if (stopping_ && inspection_) {
      inspection_ = nullptr;
      return error::Unavailable("The server stops.");
    }
  }
}

template <class State>
absl::StatusOr<Comparison> CommitLane<State>::Compare() {
  Picture picture;
  RETURN_IF_ERROR(ReadPicture(picture, true));
  Comparison result{picture.at.revision, static_cast<int64_t>(picture.tables.size()), false};
  if (!picture.gap.empty()) {
    result.differences.push_back(picture.gap);
    return result;
  }
  // Once a read has shown it, the lane's own copy is at least as new.
  State working, served;
  Position at;
  RETURN_IF_ERROR(CopyState(served, at));
  RETURN_IF_ERROR(CopyBoth(working, served, at));
  RETURN_IF_ERROR(Advance(picture, at));
  const bool whole = picture.compacted_revision == 0;
  result = {at.revision, static_cast<int64_t>(working.size()), whole};
  std::vector<std::string>& differences = result.differences;
  AppendDifferences("memory beside tables", working, picture.tables, true, differences);
  AppendDifferences("tables beside memory", picture.tables, working, true, differences);
  AppendDifferences("memory beside journal", working, picture.replayed, whole, differences);
  AppendDifferences("journal beside memory", picture.replayed, working, true, differences);
  AppendDifferences("served beside memory", served, working, true, differences);
  AppendDifferences("memory beside served", working, served, true, differences);
  return result;
}

}  // namespace muster::storage
