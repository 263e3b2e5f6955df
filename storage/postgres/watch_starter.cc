#include "storage/postgres/watch_starter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"

namespace muster::storage {
namespace {

// Readers' connections are few, and readers wait for them, too.
constexpr int kResumeThreads = 2;
// How many watches, of all callers in turn, begin before those that come meanwhile.
constexpr size_t kBeginTogether = 250;

absl::Status Stopping() { return error::Unavailable("The server stops."); }

void EndAll(const std::vector<std::shared_ptr<Watcher>>& watchers, const absl::Status& status) {
  for (const auto& watcher : watchers) watcher->End(status);
}

// `watchers`, grouped by the list that they begin with; groups in the order of their first members.
std::vector<std::vector<std::shared_ptr<Watcher>>> ByList(
    const std::vector<std::shared_ptr<Watcher>>& watchers) {
  std::vector<std::vector<std::shared_ptr<Watcher>>> alike;
  std::map<WatchList, size_t> places;
  for (const auto& watcher : watchers) {
    const std::optional<WatchList> list = watcher->list();
    const size_t place =
        list.has_value() ? places.try_emplace(*list, alike.size()).first->second : alike.size();
    if (place == alike.size()) alike.emplace_back();
    alike[place].push_back(watcher);
  }
  return alike;
}

}  // namespace

WatchStarter::WatchStarter(const LaneOptions& options, LaneDb& db, const ServedPosition& memory,
                           WatchHub& hub, SnapshotOf snapshot_of, std::function<void()> poke)
    : options_(options),
      db_(db),
      memory_(memory),
      hub_(hub),
      snapshot_of_(std::move(snapshot_of)),
      poke_(std::move(poke)),
      resumes_(kResumeThreads, [this](Resuming& resuming) { Resume(resuming); }) {}

void WatchStarter::Start() {
  thread_ = std::thread([this] { Run(); });
}

std::shared_ptr<Watcher> WatchStarter::Watch(WatchOptions options) {
  auto watcher = std::make_shared<Watcher>(std::move(options), options_.max_watch_queue);
  bool begins = false;
  {
    MutexLock lock(mutex_);
    begins = !stopping_;
    if (begins) new_watches_.Push(watcher->options().turn, watcher);
    wakes_.Signal();
  }
  if (!begins) watcher->End(Stopping());
  return watcher;
}

void WatchStarter::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  wakes_.SignalAll();
}

void WatchStarter::Join() {
  if (thread_.joinable()) thread_.join();
  for (Resuming& left : resumes_.Stop()) left.watcher->End(Stopping());
  std::map<const Watcher*, Resuming> waiting;
  {
    MutexLock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const auto& [watcher, resuming] : waiting) {
    resuming.watcher->NotifyWhenRoom(0, nullptr);
    resuming.watcher->End(Stopping());
  }
}

void WatchStarter::Run() {
  while (true) {
    std::vector<std::shared_ptr<Watcher>> watchers;
    bool stops = false;
    {
      MutexLock lock(mutex_);
      while (new_watches_.empty() && !stopping_) wakes_.Wait(mutex_);
      stops = stopping_;
      watchers = stops ? new_watches_.TakeAll() : new_watches_.Take(kBeginTogether);
    }
    if (stops) return EndAll(watchers, Stopping());
    if (!db_.ready()) {
      EndAll(watchers, DatabaseAway());
      continue;
    }
    const auto resumed = std::stable_partition(
        watchers.begin(), watchers.end(),
        [](const auto& watcher) { return !watcher->options().after_revision.has_value(); });
    for (auto it = resumed; it != watchers.end(); ++it) {
      if (!JoinAtOnce(*it)) BeginResumed(*it);
    }
    BeginWithSnapshots({watchers.begin(), resumed});
  }
}

size_t WatchStarter::Window(const Watcher& watcher) const {
  const bool much = read_ahead_->Of(watcher.options().turn) >= options_.max_read_ahead;
  const size_t window = much ? options_.least_window : static_cast<size_t>(options_.catch_up_chunk);
  return std::min(options_.max_watch_queue, window);
}

bool WatchStarter::stopping() const {
  MutexLock lock(mutex_);
  return stopping_;
}

void WatchStarter::BeginWithSnapshots(const std::vector<std::shared_ptr<Watcher>>& watchers) {
  for (const auto& alike : ByList(watchers)) {
    options_.Yield(LanePoint::kNextSnapshot);
    hub_.LetPublish();
    BeginTogether(alike);
    for (const auto& watcher : alike) watcher->Wake();
  }
}

void WatchStarter::BeginTogether(const std::vector<std::shared_ptr<Watcher>>& watchers) {
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

bool WatchStarter::JoinAtOnce(const std::shared_ptr<Watcher>& watcher) {
  const WatchOptions& options = watcher->options();
  MutexLock lock(hub_.mutex());
  const Position served = memory_.served_at();
  if (served.revision != options.after_revision || served.incarnation != options.incarnation)
    return false;
  watcher->SkipThrough(served.revision);
  hub_.Join(watcher);
  return true;
}

void WatchStarter::BeginResumed(std::shared_ptr<Watcher> watcher) {
  Resuming resuming{std::move(watcher)};
  resuming.at = *resuming.watcher->options().after_revision;
  resuming.began = memory_.served_at();
  resuming.watcher->SkipThrough(resuming.at);
  ResumeLater(std::move(resuming));
}

void WatchStarter::ResumeLater(Resuming resuming) {
  const std::shared_ptr<Watcher> watcher = resuming.watcher;
  if (!resumes_.Add(watcher->options().turn, std::move(resuming))) watcher->End(Stopping());
}

void WatchStarter::Resume(Resuming& resuming) {
  const absl::StatusOr<Step> step = stopping() ? Stopping() : ResumeSome(resuming);
  if (!step.ok()) return resuming.watcher->End(step.status());
  switch (*step) {
    case Step::kOver:
      return;
    case Step::kAgain:
      return ResumeLater(std::move(resuming));
    case Step::kWaitsForRoom:
      return AwaitRoom(resuming);
  }
}

void WatchStarter::AwaitRoom(const Resuming& resuming) {
  {
    MutexLock lock(mutex_);
    waiting_[resuming.watcher.get()] = resuming;
  }
  resuming.watcher->NotifyWhenRoom(
      Window(*resuming.watcher) / 2, [this, watcher = resuming.watcher.get()] {
        MutexLock lock(mutex_);
        const auto it = waiting_.find(watcher);
        // Whoever stops this ends it.
        if (it == waiting_.end() || !resumes_.Add(watcher->options().turn, Resuming(it->second)))
          return;
        waiting_.erase(it);
      });
}

absl::StatusOr<WatchStarter::Step> WatchStarter::ResumeSome(Resuming& resuming) {
  Watcher& watcher = *resuming.watcher;
  if (watcher.cancelled() || watcher.ended()) return Step::kOver;
  RETURN_IF_ERROR(CheckResume(resuming));
  const int64_t served = memory_.served_revision();
  if (resuming.at < served) {
    const size_t waiting = watcher.waiting();
    const size_t window = Window(watcher);
    if (waiting > window / 2) return Step::kWaitsForRoom;
    // Of a busy journal most may be none of the watcher's.
    constexpr size_t kLeastRead = 500;
    const auto rows = static_cast<int64_t>(std::max(window - waiting, kLeastRead));
    RETURN_IF_ERROR(OfferJournal(watcher, resuming.at, std::min(served, resuming.at + rows)));
    if (resuming.at < served) return Step::kAgain;
  }
  options_.Yield(LanePoint::kResumeLevel);
  return JoinHub(resuming);
}

absl::Status WatchStarter::CheckResume(const Resuming& resuming) {
  const auto& [watcher, at, began, levels] = resuming;
  ASSIGN_OR_RETURN(const Head head, db_.PeekHead(began.revision));
  const Continuity continuity = Judge(began, head);
  const std::string& wanted = watcher->options().incarnation;
  if (continuity.replaced() || (!wanted.empty() && wanted != head.incarnation)) {
    poke_();
    return HistoryReplaced(continuity.reason);
  }
  if (at > head.revision) return error::RevisionInFuture(at, head.revision);
  if (at < head.compacted_revision) return error::RevisionCompacted(at, head.compacted_revision);
  return absl::OkStatus();
}

absl::StatusOr<WatchStarter::Step> WatchStarter::JoinHub(Resuming& resuming) {
  // The journal is read without holding up the lane. After so many tries, in which memory moved on
  // each time, it is read with the lock held.
  constexpr int kFreeLevels = 20;
  Watcher& watcher = *resuming.watcher;
  MutexLock lock(hub_.mutex());
  if (memory_.served_at().incarnation != resuming.began.incarnation)
    return HistoryReplaced("It was replaced meanwhile.");
  if (++resuming.levels > kFreeLevels)
    RETURN_IF_ERROR(OfferJournal(watcher, resuming.at, memory_.served_revision(), true));
  if (resuming.at < memory_.served_revision()) return Step::kAgain;
  hub_.Join(resuming.watcher);
  return Step::kOver;
}

std::shared_ptr<const JournalRow> WatchStarter::ReadAhead(const Watcher& watcher,
                                                          const JournalRow& row) const {
  struct Counted {
    JournalRow row = {};
    std::shared_ptr<const void> held = {};
  };
  const size_t bytes =
      sizeof(Counted) + row.key.size() + (row.bytes == nullptr ? 0 : row.bytes->size());
  const auto counted = std::make_shared<const Counted>(
      Counted{row, HeldByCaller::Hold(read_ahead_, watcher.options().turn, bytes)});
  return {counted, &counted->row};
}

absl::Status WatchStarter::OfferJournal(Watcher& watcher, int64_t& at, int64_t upto, bool all) {
  while (at < upto) {
    ASSIGN_OR_RETURN(const std::vector<JournalRow> rows, db_.ReadJournal(at, upto));
    if (rows.empty()) return error::RevisionCompacted(at, upto);
    for (const JournalRow& row : rows) {
      if (row.revision != at + 1) return error::RevisionCompacted(at, upto);
      if (watcher.Offer(ReadAhead(watcher, row))) watcher.Wake();
      at = row.revision;
      if (!all && watcher.waiting() >= Window(watcher)) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::storage
