#pragma once

// How the lane's memory keeps level with the database's history. Included by lane.h only.

namespace muster::storage {

template <class State>
void CommitLane<State>::CatchUpIdle() {
  const absl::StatusOr<Head> head = db_.PeekHead(memory_.at().revision);
  db_.set_ready(head.ok());
  if (!head.ok()) return;
  clock_.Take(*head);
  if (head->revision == memory_.at().revision && Judge(memory_.at(), *head).continues()) return;
  // What fails here is tried again at the next poll; until then whoever waits for newer memory is
  // told so.
  const absl::Status status = Follow();
  db_.set_ready(status.ok());
  if (status.ok()) return;
  log::Warn("memory cannot follow the journal",
            {{"schema", options_.connect.schema}, {"error", status}});
}

template <class State>
absl::Status CommitLane<State>::Follow() {
  bool anew = false;
  RETURN_IF_ERROR(db_.Read([&](Transaction& tx) {
    const Head head = journal::Peek(tx, memory_.at().revision);
    anew = !Judge(memory_.at(), head).continues();
    return anew ? absl::OkStatus() : CatchUp(tx, head);
  }));
  return anew ? LoadAnew() : absl::OkStatus();
}

template <class State>
absl::Status CommitLane<State>::LoadAnew() {
  // Who waits for memory waits on, until its deadline.
  loading_ = true;
  const absl::Cleanup loaded_or_not = [this] { loading_ = false; };
  Head truth;
  ASSIGN_OR_RETURN(const Continuity why, db_.Confirm(memory_.at(), truth));
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
  memory_.at() = std::move(at);
  if (why.replaced()) ++history_replaced_;
  PublishReload(why);
  return absl::OkStatus();
}

template <class State>
absl::Status CommitLane<State>::CatchUp(Transaction& tx, const Head& head) {
  while (memory_.at().revision < head.revision) {
    const std::vector<JournalRow> rows =
        journal::Read(tx, memory_.at().revision, head.revision, options_.catch_up_chunk);
    // Ordered and without repeats: as many as there should be are all that there should be.
    if (rows.empty() ||
        rows.back().revision != memory_.at().revision + static_cast<int64_t>(rows.size())) {
      return error::Unavailable(
          absl::StrCat("The journal has a gap after revision ", memory_.at().revision, "."));
    }
    Entries changes;
    for (const JournalRow& row : rows) {
      absl::StatusOr<Change> change = store_.Decode(row.kind, row.key, row.bytes.get());
      // No command is to blame for it.
      if (!change.ok()) return error::Unavailable(change.status().message());
      changes.push_back({*std::move(change), row.revision});
    }
    for (const Revised<Change>& change : changes)
      memory_.working().Apply(change.change, change.revision);
    memory_.at().revision = rows.back().revision;
    memory_.at().batch = rows.back().batch;
    Publish(changes, rows);
  }
  return absl::OkStatus();
}

template <class State>
absl::Status CommitLane<State>::Load(State& state, Position& at) {
  return db_.Read([&](Transaction& tx) {
    state = State();
    const Head head = journal::Peek(tx, 0);
    clock_.Take(head);
    at = Position::Of(head);
    LoadSlowly(tx, [&](Revised<Change> row) { state.Apply(row.change, row.revision); });
    return absl::OkStatus();
  });
}

template <class State>
void CommitLane<State>::LoadSlowly(Transaction& tx,
                                   absl::FunctionRef<void(Revised<Change>)> emit) const {
  journal::SetIdleTimeout(tx, kLoadPatience);
  store_.Load(tx, emit);
  journal::SetIdleTimeout(tx, options_.connect.idle_in_transaction_timeout);
}

template <class State>
void CommitLane<State>::Publish(const Entries& changes, const std::vector<JournalRow>& rows) {
  MutexLock watch_lock(watchers_.mutex());
  memory_.Publish(changes);
  watchers_.Send(rows);
  {
    MutexLock lock(mutex_);
    for (const Subscriber& subscriber : subscribers_) subscriber(changes);
  }
  reads_.Wake();
}

template <class State>
void CommitLane<State>::PublishReload(const Continuity& why) {
  MutexLock watch_lock(watchers_.mutex());
  memory_.PublishAll();
  watchers_.EndAll(why.replaced()
                       ? HistoryReplaced(why.reason)
                       : error::RevisionCompacted(memory_.at().revision, memory_.at().revision));
  {
    MutexLock lock(mutex_);
    for (const Subscriber& subscriber : subscribers_) subscriber({});
  }
  reads_.Wake();
}

template <class State>
void CommitLane<State>::TendWatchers() {
  const auto now = std::chrono::steady_clock::now();
  if (now < tend_at_) return;
  tend_at_ = now + absl::ToChronoNanoseconds(options_.progress_interval);
  watchers_.Tend(memory_.at());
}

}  // namespace muster::storage
