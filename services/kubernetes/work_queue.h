#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/random/random.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"

namespace muster::kubernetes {

// Keys that wait to be worked on. A key waits at most once, and is never given out while a worker
// has it: what is added meanwhile is given out after Done. Thread-safe.
class WorkQueue {
 public:
  struct Options {
    absl::Duration first_retry = absl::Milliseconds(50);
    absl::Duration last_retry = absl::Seconds(30);
    const SteadyClock* clock = TheSteadyClock();  // outlives the queue
  };
  struct Counts {
    int64_t adds = 0;
    int64_t retries = 0;
    int64_t waiting = 0;                               // to be taken now
    int64_t taken = 0;                                 // being worked on
    absl::Duration unfinished = absl::ZeroDuration();  // for how long, all together
    absl::Duration longest = absl::ZeroDuration();     // and the longest of them
  };
  // A key that was taken, and how long it had waited.
  struct Item {
    std::string key = {};
    absl::Duration waited = absl::ZeroDuration();
  };

  explicit WorkQueue(Options options) : options_(options) {}
  WorkQueue() : WorkQueue(Options()) {}

  void Add(const std::string& key);
  // Adds the key after `delay`, unless it is to be added earlier already.
  void AddAfter(const std::string& key, absl::Duration delay);
  // Adds the key after a pause that doubles with every failure since Forget, less a random part of
  // up to half; at least `at_least`. Returns how many failures these are by now.
  int Retry(const std::string& key, absl::Duration at_least = absl::ZeroDuration());
  void Forget(const std::string& key);

  // Waits for a key. Nullopt: stopped. Every key taken must be given to Done.
  std::optional<Item> Take();
  void Done(const std::string& key);

  void Stop();
  Counts counts() const;

 private:
  struct State {
    bool queued = false;  // in ready_
    bool taken = false;
    bool again = false;  // added while taken
    int failures = 0;
    absl::Duration since = -absl::InfiniteDuration();  // queued
    absl::Duration due = absl::InfiniteDuration();     // in later_
  };

  void Enqueue(const std::string& key, State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Schedule(const std::string& key, absl::Duration due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Trim(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  Counts counts_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, State> states_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> taken_ MUSTER_GUARDED_BY(mutex_);
  std::deque<std::string> ready_ MUSTER_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Duration, std::string>> later_ MUSTER_GUARDED_BY(mutex_);
  absl::BitGen random_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
