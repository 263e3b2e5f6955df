#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "muster/capacity/v1/capacity.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.pb.h"
#include "services/common/backoff.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"
#include "services/fleetsim/catalogue.h"
#include "services/fleetsim/cluster.h"
#include "services/fleetsim/fleet_model.h"
#include "services/fleetsim/lag_histogram.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/client/watch.h"

namespace muster::fleetsim {

struct AgentOptions {
  std::string server = {};                                     // gRPC target
  std::shared_ptr<grpc::ChannelCredentials> credentials = {};  // null: plain text
  FleetOptions fleet = {};
  int report_batch = 500;                            // most Nodes a ReportNodes call, 1 to 500
  int report_calls = 2;                              // most ReportNodes calls at a time, 1 to 16
  std::vector<capacity::v1::Machine> machines = {};  // registered at start
  double fail_share = 0;                             // see FailNodes, 0 to 1
  ClusterOptions cluster = {};                       // for the maker of the Cluster
  absl::Duration first_retry = absl::Milliseconds(100);
  absl::Duration last_retry = absl::Seconds(2);
};

// What an agent did so far.
struct AgentStats {
  int64_t streams = 0;                           // watches that delivered something
  int64_t snapshots = 0;                         // of them begun with a whole snapshot
  int64_t messages = 0;                          // received
  int64_t accepted = 0;                          // reports
  int64_t refused = 0;                           // reports that the server refused
  int64_t lost = 0;                              // reports that are sent again
  int64_t registered = 0;                        // machines
  int64_t unknown = 0;                           // Nodes now that the server does not know
  int64_t calls = 0;                             // of ReportNodes
  absl::Duration waited = absl::ZeroDuration();  // for their answers, all calls together
  LagHistogram lag = {};  // from when reports were due, and their Node known, until they were sent
};

// Connects the model's fleet with the server: one thread reads WatchLifecycle into the model,
// `report_calls` threads send what is due by ReportNodes, one registers the machines and ends, and
// with a Cluster one reads the instance types, once a minute and when a Node has an unknown one.
// What fails is tried again after a growing, jittered pause, unless it is INVALID_ARGUMENT; a
// broken watch goes on from the last revision, or with a snapshot if it cannot. No thread spins:
// each sleeps until a message, a due time or the end of a pause.
class Agent {
 public:
  // `clock` and `cluster` must outlive the agent. `cluster` gets each machine's desired state;
  // null: there is none.
  Agent(AgentOptions options, const Clock& clock, Cluster* cluster = nullptr);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Works until Stop. Call once.
  void Run();
  // Lets the share AgentOptions::fail_share of the healthy Nodes in production fall unhealthy.
  // Returns their number. Thread-safe.
  int64_t FailNodes();
  // Lets Run return soon. Thread-safe.
  void Stop();

  AgentStats stats() const;
  // The statistics since the last call of it, or since the start.
  AgentStats TakeStats();
  size_t nodes() const;

 private:
  struct Rpc;

  rpc::Watch::Options WatchOptions();
  void TakeBundle(const lifecycle::v1::WatchLifecycleResponse& message);
  void Take(const lifecycle::v1::WatchLifecycleResponse& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellCluster() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CatalogueLoop();
  absl::Status ReadCatalogue();
  void RegisterLoop();
  // Registers the machines from `begin` to before `end`, however long that takes. Returns how many
  // of them the server refuses for good.
  size_t Register(size_t begin, size_t end);
  void ReportLoop();
  // Sends one batch and puts the answers into the model. False: it did not arrive.
  bool Report(const std::vector<FleetModel::Due>& batch);
  void Finish(const std::vector<FleetModel::Due>& batch, const absl::Status& status,
              const std::vector<int>& codes);
  Backoff NewBackoff() const { return {options_.first_retry, options_.last_retry}; }

  const AgentOptions options_;
  const Clock& clock_;
  Cluster* const cluster_;
  const std::unique_ptr<Rpc> rpc_;
  Stopper stopper_;
  mutable Mutex mutex_;
  CondVar changed_;  // something is due earlier, or stopped
  FleetModel model_ MUSTER_GUARDED_BY(mutex_);
  Catalogue catalogue_ MUSTER_GUARDED_BY(mutex_);
  AgentStats stats_ MUSTER_GUARDED_BY(mutex_);
  // Whether the stream has brought nothing yet, and whether it began with a snapshot.
  bool first_ MUSTER_GUARDED_BY(mutex_) = false;
  bool snapshot_ MUSTER_GUARDED_BY(mutex_) = false;
  rpc::Watch watch_;
};

}  // namespace muster::fleetsim
