#include "storage/postgres/watch_waker.h"

#include <iterator>
#include <utility>

namespace muster::storage {

WatchWaker::WatchWaker(absl::Duration rest) : rest_(rest), thread_([this] { Run(); }) {}

void WatchWaker::Add(Watchers watchers) {
  if (watchers.empty()) return;
  MutexLock lock(mutex_);
  if (waiting_.empty()) {
    waiting_ = std::move(watchers);
    wakes_.Signal();
  } else {
    std::move(watchers.begin(), watchers.end(), std::back_inserter(waiting_));
  }
}

void WatchWaker::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.Signal();
    stops_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

void WatchWaker::Run() {
  while (true) {
    Watchers to_wake;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopping_) wakes_.Wait(mutex_);
      if (waiting_.empty()) return;
      to_wake.swap(waiting_);
    }
    for (const auto& watcher : to_wake) watcher->Wake();
    MutexLock lock(mutex_);
    // Woken too early, it rests less: no harm.
    if (!stopping_) stops_.WaitFor(mutex_, rest_);
  }
}

}  // namespace muster::storage
