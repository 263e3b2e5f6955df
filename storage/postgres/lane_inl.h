#pragma once

// The lane's thread. Included by lane.h only.

namespace muster::storage {

template <class State>
void CommitLane<State>::Start() {
  lane_ = std::thread([this] { RunLane(); });
  answers_thread_ = std::thread([this] { RunAnswers(); });
  reads_.Start();
  watch_starts_.Start();
  db_.StartTailer([this](int64_t revision) {
    if (revision > memory_.served_revision()) Poke();
  });
}

template <class State>
void CommitLane<State>::Poke() {
  MutexLock lock(mutex_);
  poked_ = true;
  lane_wakes_.Signal();
}

template <class State>
void CommitLane<State>::StopIntake() {
  {
    MutexLock lock(mutex_);
    intake_over_ = true;
  }
  reads_.CloseIntake();
  FailQueued(error::Unavailable("The server stops."));
}

template <class State>
void CommitLane<State>::Stop() {
  StopIntake();
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    lane_wakes_.SignalAll();
  }
  reads_.Stop();
  watch_starts_.Stop();
  db_.Stop();
  if (lane_.joinable()) lane_.join();
  reads_.Join();
  watch_starts_.Join();
  {
    MutexLock lock(answers_mutex_);
    no_more_answers_ = true;
    answers_wake_.Signal();
  }
  if (answers_thread_.joinable()) answers_thread_.join();
  MutexLock lock(watchers_.mutex());
  watchers_.EndAll(error::Unavailable("The server stops."));
}

template <class State>
void CommitLane<State>::Submit(Decide decide, Done done, absl::Time deadline,
                               std::string incarnation) {
  absl::Status refused;
  {
    MutexLock lock(mutex_);
    if (intake_over_) {
      refused = error::Unavailable("The server stops.");
    } else if (queue_.size() >= options_.max_queue) {
      refused = error::Unavailable("Too many requests wait to be committed.");
    } else {
      queue_.push_back({std::move(decide), std::move(done), deadline, std::move(incarnation)});
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
    TendWatchers();
  }
}

template <class State>
void CommitLane<State>::RunBatch(std::vector<Command> batch) {
  const absl::Time real_now = absl::Now();
  for (Command& command : batch) {
    if (command.deadline < real_now)
      command.status = absl::DeadlineExceededError("The request waited too long to be committed.");
  }
  const absl::Status status = CommitOrSplit(absl::MakeSpan(batch));
  db_.set_ready(!absl::IsUnavailable(status));
  // While the database is away nobody should wait behind the next futile try.
  if (absl::IsUnavailable(status)) FailQueued(status);
}

template <class State>
absl::Status CommitLane<State>::CommitOrSplit(absl::Span<Command> batch) {
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
void CommitLane<State>::Answer(absl::Span<Command> batch, const absl::Status& status,
                               int64_t shown) {
  if (!status.ok()) ++failed_batches_;
  commands_ += static_cast<int64_t>(batch.size());
  std::vector<Command> commands(std::make_move_iterator(batch.begin()),
                                std::make_move_iterator(batch.end()));
  MutexLock lock(answers_mutex_);
  answers_.push_back({std::move(commands), status, shown});
  answers_wake_.Signal();
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
  for (int follows = 0; follows < kMaxFollows; ++follows) {
    bool behind = false;
    const absl::Status status = TryLevelBatch(batch, shown, behind);
    if (!behind) return status;
    const int64_t replaced = history_replaced_;
    RETURN_IF_ERROR(Follow());
    if (history_replaced_ != replaced) return HistoryLost();
  }
  db_.DropReaders();
  return error::Unavailable("Memory cannot follow the journal.");
}

template <class State>
void CommitLane<State>::DecideOne(Command& command, StagedState<State>& staged, absl::Time now) {
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
absl::Status CommitLane<State>::TryLevelBatch(absl::Span<Command> batch, int64_t& shown,
                                              bool& behind) {
  const std::string batch_id = LaneDb::NewBatchId();
  int64_t first_revision = 0;
  std::optional<StagedState<State>> staged;
  std::vector<JournalRow> rows;
  const auto body = [&](Transaction& tx) -> absl::Status {
    if (staged.has_value()) staged->RollBack();
    staged.reset();
    rows.clear();
    const Head head = journal::Lock(tx, memory_.at().revision);
    behind = !Judge(memory_.at(), head).continues() ||
             head.revision - memory_.at().revision > options_.catch_up_chunk;
    if (behind) return absl::CancelledError("Memory is not level with the journal.");
    RETURN_IF_ERROR(CatchUp(tx, head));
    staged.emplace(memory_.working(), memory_.at().revision);
    first_revision = memory_.at().revision + 1;
    const absl::Time now = clock_.Take(head);
    for (Command& command : batch) {
      if (absl::IsDeadlineExceeded(command.status)) continue;
      if (!command.incarnation.empty() && command.incarnation != memory_.at().incarnation) {
        command.status = HistoryLost();
        continue;
      }
      DecideOne(command, *staged, now);
    }
    if (staged->changes().empty()) return absl::OkStatus();
    store_.Write(tx, LastPerKey(staged->changes()));
    rows = ToJournal(staged->changes());
    journal::Append(tx, rows, batch_id, now);
    return absl::OkStatus();
  };
  const absl::Status status = db_.Write(body, &first_revision, &batch_id);
  if (!status.ok()) {
    if (staged.has_value()) staged->RollBack();
    return status;
  }
  shown = memory_.at().revision = staged->revision();
  if (rows.empty()) return status;
  memory_.at().batch = batch_id;
  ++batches_;
  changes_ += static_cast<int64_t>(rows.size());
  options_.Yield(LanePoint::kBeforePublish);
  Publish(staged->changes(), rows);
  db_.Announce(memory_.at().revision);
  return status;
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
void CommitLane<State>::FailQueued(const absl::Status& status) {
  std::deque<Command> failed;
  {
    MutexLock lock(mutex_);
    failed.swap(queue_);
  }
  for (Command& command : failed) command.done(status, 0);
  reads_.FailUnasked(status);
}

template <class State>
LaneStats CommitLane<State>::stats() const {
  LaneStats stats{.revision = memory_.served_revision(),
                  .batches = batches_,
                  .commands = commands_,
                  .changes = changes_,
                  .failed_batches = failed_batches_,
                  .retries = db_.stats().retries,
                  .in_doubt = db_.stats().in_doubt,
                  .history_replaced = history_replaced_};
  stats.watchers = watchers_.Count();
  MutexLock lock(mutex_);
  stats.queued = static_cast<int64_t>(queue_.size());
  return stats;
}

}  // namespace muster::storage
