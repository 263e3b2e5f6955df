#include "services/kubernetes/work_queue.h"

#include <algorithm>
#include <utility>

#include "services/common/backoff.h"

namespace muster::kubernetes {
namespace {

constexpr absl::Duration kLongestSleep = absl::Minutes(1);

}  // namespace

void WorkQueue::Enqueue(const std::string& key, State& state) {
  if (state.taken) {
    state.again = true;
    return;
  }
  if (state.queued) return;
  state.queued = true;
  state.since = options_.clock->Now();
  ready_.push_back(key);
  ++counts_.adds;
  changed_.Signal();
}

void WorkQueue::Schedule(const std::string& key, absl::Duration due) {
  State& state = states_[key];
  if (state.due <= due) return;
  later_.erase({state.due, key});
  state.due = due;
  later_.emplace(due, key);
  changed_.Signal();
}

void WorkQueue::Add(const std::string& key) {
  MutexLock lock(mutex_);
  Enqueue(key, states_[key]);
}

void WorkQueue::AddAfter(const std::string& key, absl::Duration delay) {
  if (delay <= absl::ZeroDuration()) return Add(key);
  MutexLock lock(mutex_);
  Schedule(key, options_.clock->Now() + delay);
}

int WorkQueue::Retry(const std::string& key, absl::Duration at_least) {
  MutexLock lock(mutex_);
  State& state = states_[key];
  const absl::Duration pause =
      PauseAfter(++state.failures, options_.first_retry, options_.last_retry);
  ++counts_.retries;
  const int failures = state.failures;
  Schedule(key, options_.clock->Now() + Jittered(pause, random_, at_least));
  return failures;
}

void WorkQueue::Forget(const std::string& key) {
  MutexLock lock(mutex_);
  const auto found = states_.find(key);
  if (found != states_.end()) found->second.failures = 0;
}

void WorkQueue::TakeDue() {
  const absl::Duration now = options_.clock->Now();
  while (!later_.empty() && later_.begin()->first <= now) {
    const std::string key = later_.begin()->second;
    later_.erase(later_.begin());
    State& state = states_[key];
    state.due = absl::InfiniteDuration();
    Enqueue(key, state);
  }
}

std::optional<WorkQueue::Item> WorkQueue::Take() {
  MutexLock lock(mutex_);
  while (true) {
    if (stopped_) return std::nullopt;
    TakeDue();
    if (!ready_.empty()) break;
    const absl::Duration sleep =
        later_.empty() ? kLongestSleep : later_.begin()->first - options_.clock->Now();
    changed_.WaitFor(mutex_, std::clamp(sleep, absl::ZeroDuration(), kLongestSleep));
  }
  Item item{.key = std::move(ready_.front())};
  ready_.pop_front();
  State& state = states_[item.key];
  state.queued = false;
  state.taken = true;
  const absl::Duration now = options_.clock->Now();
  item.waited = now - std::exchange(state.since, now);
  taken_.insert(item.key);
  return item;
}

void WorkQueue::Trim(const std::string& key) {
  const auto found = states_.find(key);
  const State& state = found->second;
  const bool idle = !state.queued && !state.taken && state.failures == 0;
  if (idle && state.due == absl::InfiniteDuration()) states_.erase(found);
}

void WorkQueue::Done(const std::string& key) {
  MutexLock lock(mutex_);
  State& state = states_[key];
  state.taken = false;
  taken_.erase(key);
  if (std::exchange(state.again, false)) Enqueue(key, state);
  Trim(key);
}

void WorkQueue::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.SignalAll();
}

WorkQueue::Counts WorkQueue::counts() const {
  MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.waiting = static_cast<int64_t>(ready_.size());
  counts.taken = static_cast<int64_t>(taken_.size());
  for (const std::string& key : taken_) {
    const absl::Duration age = options_.clock->Now() - states_.at(key).since;
    counts.unfinished += age;
    counts.longest = std::max(counts.longest, age);
  }
  return counts;
}

}  // namespace muster::kubernetes
