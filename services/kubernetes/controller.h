#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/persistent_failures.h"
#include "services/kubernetes/metrics.h"
#include "services/kubernetes/work_queue.h"

namespace muster::kubernetes {

// What came of looking at a key. If the status is not OK, the key is looked at again after a
// growing pause, or after the time that the API server asked for if that is longer. In any case it
// is looked at again after `again`, and when it is added.
struct Outcome {
  absl::Status status = absl::OkStatus();
  absl::Duration again = absl::InfiniteDuration();

  // NOLINTNEXTLINE(google-explicit-constructor): RETURN_IF_ERROR returns a status.
  Outcome(absl::Status failed) : status(std::move(failed)) {}
  Outcome() = default;
};

// When to look again for what the watch must bring, if it is late.
inline constexpr absl::Duration kWatchIsLate = absl::Seconds(1);

// Nothing failed; look again in `again`.
inline Outcome Later(absl::Duration again) {
  Outcome outcome;
  outcome.again = again;
  return outcome;
}

// Workers that look at keys, one worker a key. Thread-safe.
class Controller {
 public:
  using Reconcile = std::function<Outcome(const std::string& key)>;

  // `name`: the label of its metrics. `metrics` must outlive it.
  Controller(std::string name, int workers, Reconcile reconcile, Metrics* metrics,
             WorkQueue::Options options = {});
  ~Controller();

  void Add(const std::string& key) { queue_.Add(key); }
  WorkQueue& queue() { return queue_; }

  void Start();
  // Waits for the workers. Idempotent.
  void Stop();

 private:
  void Work();
  void Finish(const std::string& key, const Outcome& outcome);
  // Logs a failure of a key. `failures`: how many it has had in a row by now.
  void TellFailure(const std::string& key, const absl::Status& status, int failures);

  const std::string name_;
  const int workers_;
  const Reconcile reconcile_;
  Metrics& metrics_;
  WorkQueue queue_;
  Mutex mutex_;
  PersistentFailures persistent_failures_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace muster::kubernetes
