#include "storage/postgres/watch_waker.h"

#include <iterator>
#include <utility>

namespace muster::storage {

WatchWaker::WatchWaker(absl::Duration rest) : job_(rest, [this] { Run(); }) {}

void WatchWaker::Add(Watchers watchers) {
  if (watchers.empty()) return;
  MutexLock lock(mutex_);
  if (waiting_.empty()) {
    waiting_ = std::move(watchers);
    job_.Request();
  } else {
    std::move(watchers.begin(), watchers.end(), std::back_inserter(waiting_));
  }
}

void WatchWaker::Run() {
  Watchers to_wake;
  {
    MutexLock lock(mutex_);
    to_wake.swap(waiting_);
  }
  for (const auto& watcher : to_wake) watcher->Wake();
}

}  // namespace muster::storage
