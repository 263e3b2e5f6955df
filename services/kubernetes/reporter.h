#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/muster_client.h"
#include "services/kubernetes/repeated_failure.h"

namespace muster::kubernetes {

// Sends what was seen of Nodes to Muster, in batches, one call at a time. Reports of one machine
// are under way one batch at a time; a machine whose report is refused is looked at again.
// Thread-safe.
class Reporter {
 public:
  // Called when a machine is to be looked at again: after a pause that doubles with every refusal
  // in a row when a report did not fit or did not arrive; at once when it was offered again while
  // its reports were under way.
  using Listener = std::function<void(const std::string& machine, absl::Duration pause)>;

  Reporter(MusterClient* client, Listener look_again, const SteadyClock* clock = TheSteadyClock());
  ~Reporter();

  // Takes the reports of a machine, in order; they replace those that wait, also if there are none,
  // but with `keeps_work` not those of its work. While earlier ones are under way they are dropped,
  // and the machine is looked at again when they are through.
  void Report(const std::string& machine, std::vector<lifecycle::v1::NodeReport> reports,
              bool keeps_work = false);
  // The machine is gone: forgets its reports that wait, and how often others were refused.
  void Forget(const std::string& machine);
  // Sends the reports now, and waits; returns one code a report.
  absl::StatusOr<std::vector<absl::StatusCode>> ReportNow(
      const std::vector<lifecycle::v1::NodeReport>& reports);

  void Start();
  // Call MusterClient::Stop before. Idempotent.
  void Stop();

 private:
  struct Entry {
    std::vector<lifecycle::v1::NodeReport> reports = {};
    bool sent = false;
    bool offered_again = false;
  };
  struct Batch {
    std::vector<std::pair<std::string, size_t>> machines = {};  // and how many reports of each
    std::vector<lifecycle::v1::NodeReport> reports = {};
  };

  void Run();
  // What waits of the machine is not sent.
  void Withdraw(const std::string& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Batch TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(const Batch& batch);
  // One machine's reports are through.
  void Acknowledge(const std::string& machine, bool refused);

  MusterClient& client_;
  const Listener look_again_;
  const SteadyClock& clock_;
  RepeatedFailure unsent_;  // of the thread
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<std::string, Entry> entries_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> waiting_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int> refusals_ MUSTER_GUARDED_BY(mutex_);  // in a row
  std::thread thread_;
};

}  // namespace muster::kubernetes
