#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/fleetsim/cluster_objects.h"
#include "services/fleetsim/lease_book.h"
#include "services/kubernetes/api/client.h"

namespace muster::fleetsim {

struct LeaseStats {
  int64_t kept = 0;      // leases that are kept renewed
  int64_t renewals = 0;  // that succeeded
  int64_t failed = 0;    // requests; tried again
};

// Renews the leases of Nodes, by which Kubernetes tells that their kubelets live: without them its
// node controller declares every Node unknown within a minute. Thread-safe; calls nothing back, so
// callers may hold locks of their own.
class Leases {
 public:
  // Both must outlive it.
  Leases(kubernetes::Client& client, const LeaseOptions& options, const Clock& clock);
  ~Leases();
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // At most so many requests at a time. Works until Stop. Call once.
  void Start(int calls);
  // Does not end requests under way: the client's Stop does. Idempotent.
  void Stop();

  // See LeaseBook.
  void Renew(const NodeSeen& node);
  void Leave(const std::string& node);
  void End(const std::string& node);

  LeaseStats stats() const;

 private:
  void Work();
  absl::Status Make(const LeaseBook::Task& task);
  void Finish(const LeaseBook::Task& task, const absl::Status& status);

  kubernetes::Client& client_;
  const Clock& clock_;  // for what is written
  const SteadyClock& steady_ = *TheSteadyClock();
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  LeaseBook book_ MUSTER_GUARDED_BY(mutex_);
  LeaseStats stats_ MUSTER_GUARDED_BY(mutex_);
  absl::Duration last_log_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  std::vector<std::thread> threads_;
};

}  // namespace muster::fleetsim
