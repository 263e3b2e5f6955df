#pragma once

// The lane's readers and watchers. Included by lane.h only.
#include "storage/postgres/lane.h"

namespace muster::storage {

template <class State>
void CommitLane<State>::Read(ReadDone done, absl::Time deadline) {
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      new_reads_.push_back({std::move(done), deadline});
      if (new_reads_.size() == 1) reads_wake_.Signal();
      return;
    }
  }
  done(error::Unavailable("The server stops."), nullptr, 0);
}

template <class State>
void CommitLane<State>::RunReads() {
  // Reads whose revision memory has not reached yet. Rare: only another replica can be ahead of us.
  std::vector<PendingRead> waiting;
  ReadPacer pacer;
  while (true) {
    std::vector<PendingRead> fresh;
    bool stop = false;
    std::this_thread::sleep_for(pacer.Pause());
    {
      MutexLock lock(mutex_);
      if (new_reads_.empty() && !stopping_) {
        if (waiting.empty()) {
          reads_wake_.Wait(mutex_);
        } else {
          reads_wake_.WaitFor(mutex_, absl::Milliseconds(100));
        }
      }
      stop = stopping_;
      fresh.swap(new_reads_);
    }
    if (stop) {
      for (auto* reads : {&fresh, &waiting}) {
        for (PendingRead& read : *reads)
          read.done(error::Unavailable("The server stops."), nullptr, 0);
      }
      return;
    }
    if (!fresh.empty()) {
      // One tiny query for all that came in before it.
      pacer.Asking(fresh.size());
      const absl::StatusOr<int64_t> head = db_.HeadRevision();
      for (PendingRead& read : fresh) {
        if (!head.ok()) {
          read.done(head.status(), nullptr, 0);
          continue;
        }
        read.revision = *head;
        waiting.push_back(std::move(read));
      }
      if (head.ok() && *head > served_revision_) {
        MutexLock lock(mutex_);
        poked_ = true;
        lane_wakes_.Signal();
      }
    }
    AnswerReads(waiting);
  }
}

template <class State>
void CommitLane<State>::AnswerReads(std::vector<PendingRead>& waiting) {
  std::vector<PendingRead> still;
  const absl::Time now = absl::Now();
  for (PendingRead& read : waiting) {
    if (read.revision <= served_revision_) {
      ReaderLock lock(served_mutex_);
      read.done(absl::OkStatus(), &served_, served_revision_);
    } else if (now > read.deadline || !ready_) {
      read.done(error::Unavailable("Memory has not caught up with the journal."), nullptr, 0);
    } else {
      still.push_back(std::move(read));
    }
  }
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
  if (watcher->options().after_revision.has_value())
    return ResumeWatch(watcher, *watcher->options().after_revision);
  if (watcher->cancelled()) return;
  MutexLock lock(watch_mutex_);
  watcher->SkipThrough(served_revision_);
  watcher->StartSnapshot(SnapshotOf(*watcher));
  watchers_.push_back(watcher);
}

template <class State>
void CommitLane<State>::ResumeWatch(const std::shared_ptr<Watcher>& watcher, int64_t at) {
  watcher->SkipThrough(at);
  // The journal is read without holding up the lane; one that cannot be caught up with so is read
  // with the lock held.
  constexpr int kFreeReads = 20;
  for (int reads = 0; !watcher->cancelled(); ++reads) {
    const absl::StatusOr<Head> head = db_.PeekHead();
    if (!head.ok()) return watcher->End(head.status());
    if (at > head->revision) return watcher->End(error::RevisionInFuture(at, head->revision));
    if (at < head->compacted_revision)
      return watcher->End(error::RevisionCompacted(at, head->compacted_revision));
    const auto catch_up = [&](int64_t upto) -> absl::Status {
      while (at < upto) {
        ASSIGN_OR_RETURN(const std::vector<JournalRow> rows, db_.ReadJournal(at, upto));
        if (rows.empty() || rows.front().revision != at + 1)
          return error::RevisionCompacted(at, upto);
        for (const JournalRow& row : rows)
          watcher->Offer(row.revision, row.kind, row.key, row.bytes);
        at = rows.back().revision;
      }
      return absl::OkStatus();
    };
    if (absl::Status status = catch_up(served_revision_); !status.ok())
      return watcher->End(std::move(status));
    MutexLock lock(watch_mutex_);
    if (reads >= kFreeReads) {
      if (absl::Status status = catch_up(served_revision_); !status.ok())
        return watcher->End(std::move(status));
    }
    if (at < served_revision_) continue;
    watchers_.push_back(watcher);
    return;
  }
}

template <class State>
std::function<std::optional<WatchItem>()> CommitLane<State>::SnapshotOf(
    const Watcher& watcher) const {
  auto rows = std::make_shared<Entries>();
  ReaderLock lock(served_mutex_);
  served_.ForEach([&](Revised<Change> row) {
    if (watcher.Matches(row.change.kind(), row.change.key)) rows->push_back(std::move(row));
  });
  return [&store = store_, rows, next = size_t{0},
          revision = served_revision_.load()]() mutable -> std::optional<WatchItem> {
    if (next == rows->size()) return WatchItem{WatchItem::Type::kSnapshotEnd, revision};
    const Revised<Change>& row = (*rows)[next++];
    return WatchItem{WatchItem::Type::kSnapshot, row.revision, std::string(row.change.kind()),
                     row.change.key, std::make_shared<const std::string>(store.Encode(row))};
  };
}

template <class State>
void CommitLane<State>::SendToWatchers(const std::vector<JournalRow>& rows) {
  std::erase_if(watchers_,
                [](const auto& watcher) { return watcher->cancelled() || watcher->ended(); });
  for (const auto& watcher : watchers_) {
    for (const JournalRow& row : rows) watcher->Offer(row.revision, row.kind, row.key, row.bytes);
  }
}

}  // namespace muster::storage
