#include "storage/postgres/watch_hub.h"

#include <algorithm>
#include <utility>

namespace muster::storage {

void WatchHub::Join(std::shared_ptr<Watcher> watcher) { watchers_.push_back(std::move(watcher)); }

void WatchHub::Send(const std::vector<JournalRow>& rows) {
  for (const auto& watcher : watchers_) {
    for (const JournalRow& row : rows) watcher->Offer(row.revision, row.kind, row.key, row.bytes);
  }
}

void WatchHub::EndAll(const absl::Status& status) {
  for (const auto& watcher : watchers_) watcher->End(status);
  watchers_.clear();
}

void WatchHub::Tend(const Position& at) {
  MutexLock lock(mutex_);
  std::erase_if(watchers_,
                [](const auto& watcher) { return watcher->cancelled() || watcher->ended(); });
  for (const auto& watcher : watchers_) watcher->Progress(at.revision, at.incarnation);
}

int64_t WatchHub::Count() const {
  MutexLock lock(mutex_);
  return std::count_if(watchers_.begin(), watchers_.end(), [](const auto& watcher) {
    return !watcher->cancelled() && !watcher->ended();
  });
}

}  // namespace muster::storage
