#include "storage/postgres/watch_starter.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"

namespace muster::storage {

WatchStarter::WatchStarter(const LaneOptions& options, LaneDb& db, const ServedPosition& memory,
                           WatchHub& hub, SnapshotOf snapshot_of, std::function<void()> poke)
    : options_(options),
      db_(db),
      memory_(memory),
      hub_(hub),
      snapshot_of_(std::move(snapshot_of)),
      poke_(std::move(poke)) {}

void WatchStarter::Start() {
  thread_ = std::thread([this] { Run(); });
}

std::shared_ptr<Watcher> WatchStarter::Watch(WatchOptions options) {
  auto watcher = std::make_shared<Watcher>(std::move(options), options_.max_watch_queue);
  MutexLock lock(mutex_);
  if (stopping_) {
    watcher->End(error::Unavailable("The server stops."));
  } else {
    new_watches_.push_back(watcher);
    wakes_.Signal();
  }
  return watcher;
}

void WatchStarter::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  wakes_.SignalAll();
}

void WatchStarter::Join() {
  if (thread_.joinable()) thread_.join();
}

void WatchStarter::Run() {
  while (true) {
    std::vector<std::shared_ptr<Watcher>> watchers;
    {
      MutexLock lock(mutex_);
      while (new_watches_.empty() && !stopping_) wakes_.Wait(mutex_);
      watchers.swap(new_watches_);
      if (stopping_) {
        for (const auto& waiting : watchers) waiting->End(error::Unavailable("The server stops."));
        return;
      }
    }
    const auto resumed = std::stable_partition(
        watchers.begin(), watchers.end(),
        [](const auto& watcher) { return !watcher->options().after_revision.has_value(); });
    BeginWithSnapshots({watchers.begin(), resumed});
    for (auto it = resumed; it != watchers.end(); ++it) BeginResumed(*it);
  }
}

bool WatchStarter::stopping() const {
  MutexLock lock(mutex_);
  return stopping_;
}

void WatchStarter::BeginWithSnapshots(const std::vector<std::shared_ptr<Watcher>>& watchers) {
  if (watchers.empty()) return;
  {
    // At one revision, so that they share their rows.
    MutexLock lock(hub_.mutex());
    for (const auto& watcher : watchers) {
      if (watcher->cancelled()) continue;
      watcher->SkipThrough(memory_.served_revision());
      watcher->StartSnapshot(snapshot_of_(*watcher));
      options_.Yield(LanePoint::kSnapshotTaken);
      hub_.Join(watcher);
    }
  }
  for (const auto& watcher : watchers) watcher->Wake();
}

void WatchStarter::BeginResumed(const std::shared_ptr<Watcher>& watcher) {
  absl::Status status = stopping() ? error::Unavailable("The server stops.")
                                   : Resume(watcher, *watcher->options().after_revision);
  if (!status.ok()) watcher->End(std::move(status));
}

absl::Status WatchStarter::Resume(const std::shared_ptr<Watcher>& watcher, int64_t at) {
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
      poke_();
      return HistoryReplaced(continuity.reason);
    }
    if (at > head.revision) return error::RevisionInFuture(at, head.revision);
    if (at < head.compacted_revision) return error::RevisionCompacted(at, head.compacted_revision);
    RETURN_IF_ERROR(OfferJournal(*watcher, at, memory_.served_revision()));
    options_.Yield(LanePoint::kResumeLevel);
    MutexLock lock(hub_.mutex());
    if (memory_.served_at().incarnation != began.incarnation)
      return HistoryReplaced("It was replaced meanwhile.");
    if (reads >= kFreeReads) RETURN_IF_ERROR(OfferJournal(*watcher, at, memory_.served_revision()));
    if (at < memory_.served_revision()) continue;
    hub_.Join(watcher);
    break;
  }
  return absl::OkStatus();
}

absl::Status WatchStarter::OfferJournal(Watcher& watcher, int64_t& at, int64_t upto) {
  while (at < upto) {
    ASSIGN_OR_RETURN(const std::vector<JournalRow> rows, db_.ReadJournal(at, upto));
    if (rows.empty()) return error::RevisionCompacted(at, upto);
    for (const JournalRow& row : rows) {
      if (row.revision != at + 1) return error::RevisionCompacted(at, upto);
      if (watcher.Offer(row.revision, row.kind, row.key, row.bytes)) watcher.Wake();
      at = row.revision;
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::storage
