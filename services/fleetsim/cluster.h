#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/random/random.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/fleetsim/cluster_plan.h"
#include "services/fleetsim/cluster_view.h"
#include "services/fleetsim/leases.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/reflector.h"

namespace muster::fleetsim {

struct ClusterOptions {
  std::string kubeconfig = {};  // file; empty: there is no cluster
  std::string context = {};     // empty: the file's current one
  KubeletOptions kubelet = {};
  int calls = 4;  // most requests at a time, beside two watches; as many again for leases
  absl::Duration lease_interval = absl::Seconds(10);  // of a Node's renewals
  absl::Duration first_retry = absl::Milliseconds(100);
  absl::Duration last_retry = absl::Seconds(5);
};

struct ClusterStats {
  int64_t nodes = 0;  // at the API server, anybody's
  int64_t pods = 0;
  int64_t calls = 0;   // requests that change something
  int64_t failed = 0;  // rounds of such requests that failed, and are tried again
  LeaseStats leases = {};
};

// The fleet's side at an API server: brings every machine there to what is desired of it, and plays
// the kubelet for its Node and the Pods on it. Watches Nodes and Pods; one thread at a time works
// on a machine. Requests that fail are tried again after growing, jittered pauses, until the
// machine is as desired or something else is.
class Cluster {
 public:
  // INVALID_ARGUMENT or NOT_FOUND: the kubeconfig is wrong or missing. Sends nothing yet.
  static absl::StatusOr<std::unique_ptr<Cluster>> Create(ClusterOptions options,
                                                         const Clock& clock);
  // `clock` must outlive it.
  Cluster(std::unique_ptr<kubernetes::Client> client, ClusterOptions options, const Clock& clock);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Works until Stop. Call once.
  void Start();
  // Ends requests under way. Idempotent.
  void Stop();
  // What is desired of the machine from now on; ignored if it is of an earlier life of the machine
  // than what is known. Thread-safe.
  void Want(DesiredMachine desired);
  ClusterStats stats() const;

 private:
  template <class Object>
  class Inlet;
  struct Machine {
    DesiredMachine desired = {};
    bool busy = false;     // a thread is at it
    bool changed = false;  // something changed while a thread is at it
    bool queued = false;
    absl::Duration due = absl::InfiniteDuration();          // by the steady clock
    absl::Duration not_before = -absl::InfiniteDuration();  // likewise
    int rounds = 0;  // in a row in which there was something to do
  };

  void Work();
  // Waits for the next machine that is due, fills `plan` and returns its name; empty: stopped.
  std::string Take(ClusterPlan& plan);
  absl::Status Make(const std::string& machine, const ClusterCall& call);
  void Finish(const std::string& name, const ClusterPlan& plan, const absl::Status& status);
  // Something changed for the machine. The views call it too, under the lock.
  void Touch(const std::string& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TendLease(const std::string& machine, const DesiredMachine& desired)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(const std::string& name, Machine& machine, absl::Duration due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration PauseOf(const Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClusterOptions options_;
  const Clock& clock_;  // for what is written, and what the API server's times say
  const SteadyClock& steady_ = *TheSteadyClock();
  const std::unique_ptr<kubernetes::Client> client_;
  const std::unique_ptr<kubernetes::Sink> node_inlet_;
  const std::unique_ptr<kubernetes::Sink> pod_inlet_;
  Leases leases_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  int listed_ MUSTER_GUARDED_BY(mutex_) = 0;  // collections that were listed at least once
  ClusterView<NodeSeen> nodes_ MUSTER_GUARDED_BY(mutex_);
  ClusterView<PodSeen> pods_ MUSTER_GUARDED_BY(mutex_);
  absl::node_hash_map<std::string, Machine> machines_ MUSTER_GUARDED_BY(mutex_);
  absl::btree_set<std::pair<absl::Duration, std::string>> queue_ MUSTER_GUARDED_BY(mutex_);
  int64_t calls_ MUSTER_GUARDED_BY(mutex_) = 0;
  int64_t failed_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::Duration last_log_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  absl::BitGen random_ MUSTER_GUARDED_BY(mutex_);
  kubernetes::Reflector node_reflector_;
  kubernetes::Reflector pod_reflector_;
  std::vector<std::thread> threads_;
};

}  // namespace muster::fleetsim
