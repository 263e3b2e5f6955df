#include "storage/postgres/watch_hub.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace muster::storage {
namespace {

// Up to kToldTogether watchers are told of progress together, of more only one in kTurns at a time:
// to tell it to ten thousand for whom nothing happens costs more than what happens to others.
constexpr size_t kToldTogether = 1'000;
constexpr size_t kTurns = 5;

bool IsGone(const Watcher& watcher) { return watcher.gone(); }

}  // namespace

void WatchHub::Join(std::shared_ptr<Watcher> watcher) { watchers_.Add(std::move(watcher)); }

void WatchHub::Send(const std::vector<JournalRow>& rows) {
  Watchers to_wake;
  for (const JournalRow& row : rows) {
    std::shared_ptr<const JournalRow> shared;
    watchers_.ForEachOf(row.kind, row.key, [&](const std::shared_ptr<Watcher>& watcher) {
      if (shared == nullptr) shared = std::make_shared<const JournalRow>(row);
      if (watcher->Offer(shared)) to_wake.push_back(watcher);
    });
  }
  waker_.Add(std::move(to_wake));
}

void WatchHub::EndAll(const absl::Status& status) {
  for (const auto& watcher : watchers_.all()) watcher->End(status);
  watchers_.RemoveIf(IsGone);
}

void WatchHub::EndLate(absl::Duration now, absl::Duration late, size_t most_waiting) {
  std::vector<SnapshotItems> dropped;  // without the lock, as they may be large
  Watchers to_wake;
  {
    absl::flat_hash_map<uint64_t, size_t> waiting;  // by caller
    MutexLock lock(mutex_);
    for (const auto& watcher : watchers_.all()) {
      if (SnapshotItems snapshot = watcher->EndIfLate(now, late))
        dropped.push_back(std::move(snapshot));
      const size_t changes = watcher->waiting();
      if (changes <= kFewChanges) continue;
      size_t& of_caller = waiting[watcher->options().turn];
      of_caller += changes;
      if (of_caller > most_waiting && watcher->EndAsTooSlow()) to_wake.push_back(watcher);
    }
  }
  waker_.Add(std::move(to_wake));
}

void WatchHub::Tend(const Position& at) {
  Watchers to_wake;
  {
    MutexLock lock(mutex_);
    watchers_.RemoveIf(IsGone);
    for (const auto& watcher : TakeTurn()) {
      if (watcher->Progress(at.revision, at.incarnation)) to_wake.push_back(watcher);
    }
  }
  waker_.Add(std::move(to_wake));
}

WatchHub::Watchers WatchHub::TakeTurn() {
  const Watchers& all = watchers_.all();
  const size_t count = std::min(all.size(), std::max(kToldTogether, all.size() / kTurns));
  Watchers turn;
  turn.reserve(count);
  for (size_t i = 0; i < count; ++i) turn.push_back(all[(next_told_ + i) % all.size()]);
  next_told_ += count;
  return turn;
}

int64_t WatchHub::Count() const {
  MutexLock lock(mutex_);
  return std::count_if(watchers_.all().begin(), watchers_.all().end(), [](const auto& watcher) {
    return !watcher->cancelled() && !watcher->ended();
  });
}

}  // namespace muster::storage
