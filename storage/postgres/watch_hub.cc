#include "storage/postgres/watch_hub.h"

#include <algorithm>
#include <utility>

namespace muster::storage {
namespace {

bool IsGone(const Watcher& watcher) { return watcher.cancelled() || watcher.ended(); }

}  // namespace

void WatchHub::Stop() {
  for (const Watchers& left : waker_.Stop()) WakeAll(left);
}

void WatchHub::Join(std::shared_ptr<Watcher> watcher) { watchers_.Add(std::move(watcher)); }

void WatchHub::Send(const std::vector<JournalRow>& rows) {
  Watchers to_wake;
  for (const JournalRow& row : rows) {
    watchers_.ForEachOf(row.kind, row.key, [&](const std::shared_ptr<Watcher>& watcher) {
      if (watcher->Offer(row.revision, row.kind, row.key, row.bytes)) to_wake.push_back(watcher);
    });
  }
  WakeSoon(std::move(to_wake));
}

void WatchHub::EndAll(const absl::Status& status) {
  for (const auto& watcher : watchers_.all()) watcher->End(status);
  watchers_ = WatchIndex();
}

void WatchHub::Tend(const Position& at) {
  Watchers to_wake;
  {
    MutexLock lock(mutex_);
    watchers_.RemoveIf(IsGone);
    for (const auto& watcher : watchers_.all()) {
      if (watcher->Progress(at.revision, at.incarnation)) to_wake.push_back(watcher);
    }
  }
  WakeSoon(std::move(to_wake));
}

int64_t WatchHub::Count() const {
  MutexLock lock(mutex_);
  return std::count_if(watchers_.all().begin(), watchers_.all().end(),
                       [](const auto& watcher) { return !IsGone(*watcher); });
}

void WatchHub::WakeSoon(Watchers watchers) {
  // False: it stops, and all watches end.
  if (!watchers.empty()) (void)waker_.Add(std::move(watchers));
}

void WatchHub::WakeAll(const Watchers& watchers) {
  for (const auto& watcher : watchers) watcher->Wake();
}

}  // namespace muster::storage
