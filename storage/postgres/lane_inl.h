#pragma once

// The lane's thread. Included by lane.h only.
#include "storage/postgres/lane.h"

namespace muster::storage {

template <class State>
void CommitLane<State>::Start() {
  lane_ = std::thread([this] { RunLane(); });
  answers_thread_ = std::thread([this] { RunAnswers(); });
  reads_ = std::thread([this] { RunReads(); });
  watch_starts_ = std::thread([this] { RunWatchStarts(); });
  db_.StartTailer([this](int64_t revision) {
    if (revision <= served_revision_) return;
    MutexLock lock(mutex_);
    poked_ = true;
    lane_wakes_.Signal();
  });
}

template <class State>
void CommitLane<State>::Stop() {
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    stopping_ = true;
    lane_wakes_.SignalAll();
    reads_wake_.SignalAll();
    watches_wake_.SignalAll();
  }
  db_.Stop();
  for (std::thread* thread : {&lane_, &reads_, &watch_starts_}) {
    if (thread->joinable()) thread->join();
  }
  {
    MutexLock lock(answers_mutex_);
    no_more_answers_ = true;
    answers_wake_.Signal();
  }
  if (answers_thread_.joinable()) answers_thread_.join();
  FailQueued(error::Unavailable("The server stops."));
  MutexLock lock(watch_mutex_);
  for (const auto& watcher : watchers_) watcher->End(error::Unavailable("The server stops."));
  watchers_.clear();
}

template <class State>
void CommitLane<State>::Submit(Decide decide, Done done, absl::Time deadline) {
  absl::Status refused;
  {
    MutexLock lock(mutex_);
    if (stopping_) {
      refused = error::Unavailable("The server stops.");
    } else if (queue_.size() >= options_.max_queue) {
      refused = error::Unavailable("Too many requests wait to be committed.");
    } else {
      queue_.push_back({std::move(decide), std::move(done), deadline});
      if (queue_.size() == 1) lane_wakes_.Signal();
      return;
    }
  }
  done(refused, 0);
}

template <class State>
void CommitLane<State>::RunLane() {
  while (true) {
    std::vector<Command> batch;
    std::function<void()> inspection;
    {
      MutexLock lock(mutex_);
      if (queue_.empty() && !poked_ && !stopping_ && !inspection_)
        lane_wakes_.WaitFor(mutex_, options_.poll);
      if (stopping_) return;
      poked_ = false;
      inspection = std::exchange(inspection_, nullptr);
      const size_t size = std::min(queue_.size(), options_.max_batch);
      batch.assign(std::make_move_iterator(queue_.begin()),
                   std::make_move_iterator(queue_.begin() + static_cast<long>(size)));
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<long>(size));
    }
    if (inspection) inspection();
    if (batch.empty()) {
      CatchUpIdle();
    } else {
      RunBatch(std::move(batch));
    }
  }
}

template <class State>
void CommitLane<State>::RunBatch(std::vector<Command> batch) {
  const absl::Time real_now = absl::Now();
  for (Command& command : batch) {
    if (command.deadline < real_now)
      command.status = absl::DeadlineExceededError("The request waited too long to be committed.");
  }
  int64_t shown = 0;
  absl::Status status = TryBatch(absl::MakeSpan(batch), shown);
  if (absl::IsInternal(status) && batch.size() > 1) {
    // The tables refused something: alone, each command fails or succeeds for itself.
    for (Command& command : batch) {
      status = TryBatch(absl::MakeSpan(&command, 1), shown);
      command.done(status.ok() ? command.status : status, shown);
    }
    commands_ += static_cast<int64_t>(batch.size());
    return;
  }
  ready_ = !absl::IsUnavailable(status);
  if (!status.ok()) ++failed_batches_;
  commands_ += static_cast<int64_t>(batch.size());
  const bool away = absl::IsUnavailable(status);
  {
    MutexLock lock(answers_mutex_);
    answers_.push_back({std::move(batch), status, shown});
    answers_wake_.Signal();
  }
  // While the database is away nobody should wait behind the next futile try.
  if (away) FailQueued(status);
}

template <class State>
void CommitLane<State>::RunAnswers() {
  while (true) {
    std::deque<Answered> answers;
    {
      MutexLock lock(answers_mutex_);
      while (answers_.empty() && !no_more_answers_) answers_wake_.Wait(answers_mutex_);
      if (answers_.empty()) return;
      answers.swap(answers_);
    }
    for (Answered& answered : answers) {
      const absl::Status& status = answered.status;
      for (Command& command : answered.batch)
        command.done(status.ok() ? command.status : status, answered.shown);
    }
  }
}

template <class State>
absl::Status CommitLane<State>::TryBatch(absl::Span<Command> batch, int64_t& shown) {
  const std::string batch_id = LaneDb::NewBatchId();
  int64_t first_revision = 0;
  std::optional<Overlay<State>> overlay;
  std::vector<JournalRow> rows;
  const auto body = [&](Transaction& tx) -> absl::Status {
    if (overlay.has_value()) overlay->RollBack();
    overlay.reset();
    rows.clear();
    RETURN_IF_ERROR(CatchUp(tx, journal::Lock(tx)));
    overlay.emplace(working_, revision_);
    first_revision = revision_ + 1;
    const absl::Time now = clock_.Now();
    for (Command& command : batch) {
      if (absl::IsDeadlineExceeded(command.status)) continue;
      const size_t mark = overlay->Mark();
      command.status = command.decide(*overlay, now);
      if (!command.status.ok()) overlay->RollBack(mark);
    }
    if (overlay->changes().empty()) return absl::OkStatus();
    store_.Write(tx, LastPerKey(overlay->changes()));
    rows = ToJournal(overlay->changes());
    journal::Append(tx, rows, batch_id);
    return absl::OkStatus();
  };
  const absl::Status status = db_.Write(body, &first_revision, &batch_id);
  if (!status.ok()) {
    if (overlay.has_value()) overlay->RollBack();
    return status;
  }
  revision_ = overlay->revision();
  shown = revision_;
  if (rows.empty()) return status;
  ++batches_;
  changes_ += static_cast<int64_t>(rows.size());
  Publish(overlay->changes(), rows);
  db_.Announce(revision_);
  return status;
}

template <class State>
void CommitLane<State>::CatchUpIdle() {
  const absl::StatusOr<Head> head = db_.PeekHead();
  ready_ = head.ok();
  if (!head.ok() || head->revision == revision_) {
    if (head.ok()) {
      MutexLock lock(watch_mutex_);
      for (const auto& watcher : watchers_) watcher->Progress(revision_, true);
    }
    return;
  }
  // What fails here is tried again at the next poll; until then whoever waits for newer memory is
  // told so.
  const absl::Status status =
      db_.Read([&](Transaction& tx) { return CatchUp(tx, journal::Peek(tx)); });
  if (status.ok()) return;
  ready_ = false;
  log::Warn("memory cannot follow the journal",
            {{"schema", options_.connect.schema}, {"error", status}});
}

template <class State>
absl::Status CommitLane<State>::CatchUp(Transaction& tx, const Head& head) {
  if (head.revision < revision_) {
    return absl::InternalError(
        absl::StrCat("The journal's head went back from ", revision_, " to ", head.revision, "."));
  }
  if (head.compacted_revision > revision_) {
    RETURN_IF_ERROR(LoadAll(tx));
    PublishReload();
    return absl::OkStatus();
  }
  while (revision_ < head.revision) {
    const std::vector<JournalRow> rows =
        journal::Read(tx, revision_, head.revision, options_.catch_up_chunk);
    if (rows.empty() || rows.front().revision != revision_ + 1) {
      return absl::InternalError(
          absl::StrCat("The journal has a gap after revision ", revision_, "."));
    }
    Entries changes;
    for (const JournalRow& row : rows) {
      ASSIGN_OR_RETURN(Change change, store_.Decode(row.kind, row.key, row.bytes.get()));
      changes.push_back({std::move(change), row.revision});
    }
    for (const Revised<Change>& change : changes) working_.Apply(change.change, change.revision);
    revision_ = rows.back().revision;
    Publish(changes, rows);
  }
  return absl::OkStatus();
}

template <class State>
absl::Status CommitLane<State>::LoadAll(Transaction& tx) {
  const Head head = journal::Peek(tx);
  State loaded;
  LoadSlowly(tx, [&](Revised<Change> row) { loaded.Apply(row.change, row.revision); });
  working_ = std::move(loaded);
  revision_ = head.revision;
  return absl::OkStatus();
}

template <class State>
void CommitLane<State>::LoadSlowly(Transaction& tx,
                                   absl::FunctionRef<void(Revised<Change>)> emit) const {
  journal::SetIdleTimeout(tx, kLoadPatience);
  store_.Load(tx, emit);
  journal::SetIdleTimeout(tx, options_.connect.idle_in_transaction_timeout);
}

template <class State>
typename CommitLane<State>::Entries CommitLane<State>::LastPerKey(const Entries& changes) const {
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
std::vector<JournalRow> CommitLane<State>::ToJournal(const Entries& changes) const {
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

template <class State>
void CommitLane<State>::Publish(const Entries& changes, const std::vector<JournalRow>& rows) {
  // A watch that starts takes its snapshot under watch_mutex_: it sees these changes there or is
  // sent them, never both.
  MutexLock watch_lock(watch_mutex_);
  {
    WriterLock lock(served_mutex_);
    for (const Revised<Change>& change : changes) served_.Apply(change.change, change.revision);
    served_revision_ = rows.back().revision;
  }
  SendToWatchers(rows);
  MutexLock lock(mutex_);
  for (const Subscriber& subscriber : subscribers_) subscriber(changes);
  reads_wake_.Signal();
}

template <class State>
void CommitLane<State>::PublishReload() {
  MutexLock watch_lock(watch_mutex_);
  {
    WriterLock lock(served_mutex_);
    served_ = working_;
    served_revision_ = revision_;
  }
  for (const auto& watcher : watchers_)
    watcher->End(error::RevisionCompacted(revision_, revision_));
  watchers_.clear();
  MutexLock lock(mutex_);
  for (const Subscriber& subscriber : subscribers_) subscriber({});
  reads_wake_.Signal();
}

template <class State>
void CommitLane<State>::FailQueued(const absl::Status& status) {
  std::deque<Command> failed;
  std::vector<PendingRead> reads;
  {
    MutexLock lock(mutex_);
    failed.swap(queue_);
    reads.swap(new_reads_);
  }
  for (Command& command : failed) command.done(status, 0);
  for (PendingRead& read : reads) read.done(status, nullptr, 0);
}

template <class State>
LaneStats CommitLane<State>::stats() const {
  LaneStats stats{.revision = served_revision_,
                  .batches = batches_,
                  .commands = commands_,
                  .changes = changes_,
                  .failed_batches = failed_batches_,
                  .retries = db_.stats().retries,
                  .in_doubt = db_.stats().in_doubt};
  {
    MutexLock lock(mutex_);
    stats.queued = static_cast<int64_t>(queue_.size());
  }
  MutexLock lock(watch_mutex_);
  stats.watchers = std::count_if(watchers_.begin(), watchers_.end(), [](const auto& watcher) {
    return !watcher->cancelled() && !watcher->ended();
  });
  return stats;
}

}  // namespace muster::storage
