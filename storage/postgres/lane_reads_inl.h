#pragma once

// The lane's readers and watchers. Included by lane.h only.

namespace muster::storage {

template <class State>
void CommitLane<State>::Read(ReadDone done, absl::Time deadline) {
  {
    MutexLock lock(mutex_);
    if (!intake_over_) {
      new_reads_.push_back({std::move(done), deadline});
      if (new_reads_.size() == 1) reads_wake_.Signal();
      return;
    }
  }
  done(error::Unavailable("The server stops."), nullptr, 0);
}

template <class State>
void CommitLane<State>::Poke() {
  MutexLock lock(mutex_);
  poked_ = true;
  lane_wakes_.Signal();
}

template <class State>
void CommitLane<State>::RunReads() {
  std::vector<PendingRead> unasked;
  // Reads whose revision memory has not reached yet. Rare: only another replica can be ahead of us.
  std::vector<PendingRead> waiting;
  ReadPacer pacer;
  while (true) {
    std::this_thread::sleep_for(pacer.Pause());
    if (!AwaitReads(unasked, unasked.empty() && waiting.empty())) break;
    if (!unasked.empty()) {
      pacer.Asking(unasked.size());
      AskHead(unasked, waiting);
    }
    AnswerReads(unasked, waiting);
  }
  for (auto* reads : {&unasked, &waiting}) {
    for (PendingRead& read : *reads) read.done(error::Unavailable("The server stops."), nullptr, 0);
  }
}

template <class State>
bool CommitLane<State>::AwaitReads(std::vector<PendingRead>& unasked, bool none_waits) {
  MutexLock lock(mutex_);
  if (new_reads_.empty() && !stopping_) {
    if (none_waits) {
      reads_wake_.Wait(mutex_);
    } else {
      reads_wake_.WaitFor(mutex_, absl::Milliseconds(100));
    }
  }
  std::move(new_reads_.begin(), new_reads_.end(), std::back_inserter(unasked));
  new_reads_.clear();
  return !stopping_;
}

template <class State>
void CommitLane<State>::AskHead(std::vector<PendingRead>& unasked,
                                std::vector<PendingRead>& waiting) {
  // What memory knows before the head is asked, the head knows too, or it was lost.
  const Position known = memory_.served_at();
  Yield(LanePoint::kBeforeBarrier);
  const absl::StatusOr<Head> head = db_.PeekHead(known.revision, "barrier");
  Yield(LanePoint::kAfterBarrier);
  if (head.ok() && Judge(known, *head).replaced()) return Poke();
  for (PendingRead& read : unasked) {
    if (!head.ok()) {
      read.done(head.status(), nullptr, 0);
      continue;
    }
    read.incarnation = head->incarnation;
    read.revision = head->revision;
    waiting.push_back(std::move(read));
  }
  unasked.clear();
  if (head.ok() && head->revision > memory_.served_revision()) Poke();
}

template <class State>
void CommitLane<State>::AnswerReads(std::vector<PendingRead>& unasked,
                                    std::vector<PendingRead>& waiting) {
  const bool away = !ready_ || intake_over_;
  const absl::Time now = absl::Now();
  std::vector<PendingRead> again;
  std::vector<PendingRead> still;
  const auto keep = [&](PendingRead& read, std::vector<PendingRead>& to) {
    if (now <= read.deadline && !away) return to.push_back(std::move(read));
    read.done(error::Unavailable("Memory has not caught up with the journal."), nullptr, 0);
  };
  for (PendingRead& read : unasked) keep(read, again);
  for (PendingRead& read : waiting) {
    ReaderLock lock(memory_.served_mutex());
    if (read.incarnation != memory_.held_at().incarnation) {
      keep(read, again);
    } else if (read.revision <= memory_.held_at().revision) {
      read.done(absl::OkStatus(), &memory_.held(), memory_.held_at().revision);
    } else {
      keep(read, still);
    }
  }
  unasked = std::move(again);
  waiting = std::move(still);
}

template <class State>
std::shared_ptr<Watcher> CommitLane<State>::Watch(WatchOptions options) {
  auto watcher = std::make_shared<Watcher>(std::move(options), options_.max_watch_queue);
  MutexLock lock(mutex_);
  if (stopping_) {
    watcher->End(error::Unavailable("The server stops."));
  } else {
    new_watches_.push_back(watcher);
    watches_wake_.Signal();
  }
  return watcher;
}

template <class State>
void CommitLane<State>::RunWatchStarts() {
  while (true) {
    std::shared_ptr<Watcher> watcher;
    {
      MutexLock lock(mutex_);
      while (new_watches_.empty() && !stopping_) watches_wake_.Wait(mutex_);
      if (stopping_) {
        for (const auto& waiting : new_watches_)
          waiting->End(error::Unavailable("The server stops."));
        return;
      }
      watcher = std::move(new_watches_.front());
      new_watches_.pop_front();
    }
    StartWatch(watcher);
  }
}

template <class State>
void CommitLane<State>::StartWatch(const std::shared_ptr<Watcher>& watcher) {
  if (watcher->options().after_revision.has_value()) {
    if (absl::Status status = ResumeWatch(watcher, *watcher->options().after_revision);
        !status.ok())
      watcher->End(std::move(status));
    return;
  }
  if (watcher->cancelled()) return;
  MutexLock lock(watch_mutex_);
  watcher->SkipThrough(memory_.served_revision());
  watcher->StartSnapshot(SnapshotOf(*watcher));
  Yield(LanePoint::kSnapshotTaken);
  watchers_.push_back(watcher);
}

template <class State>
absl::Status CommitLane<State>::ResumeWatch(const std::shared_ptr<Watcher>& watcher, int64_t at) {
  watcher->SkipThrough(at);
  const Position began = memory_.served_at();
  // The journal is read without holding up the lane; one that cannot be caught up with so is read
  // with the lock held.
  constexpr int kFreeReads = 20;
  for (int reads = 0; !watcher->cancelled(); ++reads) {
    ASSIGN_OR_RETURN(const Head head, db_.PeekHead(began.revision));
    const Continuity continuity = Judge(began, head);
    const std::string& wanted = watcher->options().incarnation;
    if (continuity.replaced() || (!wanted.empty() && wanted != head.incarnation)) {
      Poke();
      return HistoryReplaced(continuity.reason);
    }
    if (at > head.revision) return error::RevisionInFuture(at, head.revision);
    if (at < head.compacted_revision) return error::RevisionCompacted(at, head.compacted_revision);
    RETURN_IF_ERROR(OfferJournal(*watcher, at, memory_.served_revision()));
    Yield(LanePoint::kResumeLevel);
    MutexLock lock(watch_mutex_);
    if (memory_.served_at().incarnation != began.incarnation)
      return HistoryReplaced("It was replaced meanwhile.");
    if (reads >= kFreeReads) RETURN_IF_ERROR(OfferJournal(*watcher, at, memory_.served_revision()));
    if (at < memory_.served_revision()) continue;
    watchers_.push_back(watcher);
    break;
  }
  return absl::OkStatus();
}

template <class State>
absl::Status CommitLane<State>::OfferJournal(Watcher& watcher, int64_t& at, int64_t upto) {
  while (at < upto) {
    ASSIGN_OR_RETURN(const std::vector<JournalRow> rows, db_.ReadJournal(at, upto));
    if (rows.empty()) return error::RevisionCompacted(at, upto);
    for (const JournalRow& row : rows) {
      if (row.revision != at + 1) return error::RevisionCompacted(at, upto);
      watcher.Offer(row.revision, row.kind, row.key, row.bytes);
      at = row.revision;
    }
  }
  return absl::OkStatus();
}

template <class State>
std::function<std::optional<WatchItem>()> CommitLane<State>::SnapshotOf(
    const Watcher& watcher) const {
  auto rows = std::make_shared<Entries>();
  ReaderLock lock(memory_.served_mutex());
  memory_.held().ForEach([&](Revised<Change> row) {
    if (watcher.Matches(row.change.kind(), row.change.key)) rows->push_back(std::move(row));
  });
  return [&store = store_, rows, next = size_t{0},
          at = memory_.held_at()]() mutable -> std::optional<WatchItem> {
    if (next == rows->size()) {
      return WatchItem{.type = WatchItem::Type::kSnapshotEnd,
                       .revision = at.revision,
                       .incarnation = at.incarnation};
    }
    const Revised<Change>& row = (*rows)[next++];
    return WatchItem{WatchItem::Type::kSnapshot, row.revision, std::string(row.change.kind()),
                     row.change.key, std::make_shared<const std::string>(store.Encode(row))};
  };
}

template <class State>
void CommitLane<State>::SendToWatchers(const std::vector<JournalRow>& rows) {
  for (const auto& watcher : watchers_) {
    for (const JournalRow& row : rows) watcher->Offer(row.revision, row.kind, row.key, row.bytes);
  }
}

}  // namespace muster::storage
