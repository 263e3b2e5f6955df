#pragma once

#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/common/stopper.h"
#include "services/daemon/life.h"
#include "services/kubernetes/adapter.h"
#include "services/kubernetes/options.h"
#include "services/rpc/metrics.h"
#include "services/rpc/server.h"

namespace muster::kubernetes {

// The adapter with its endpoints: metrics and health.
class Process {
 public:
  // Opens the ports. INVALID_ARGUMENT options; UNAVAILABLE a port is taken.
  static absl::StatusOr<std::unique_ptr<Process>> Start(const Options& options);
  ~Process();

  // Runs the adapter; see Adapter::Run.
  absl::Status Run();
  // Lets Run return. Thread-safe.
  void Stop();

 private:
  explicit Process(Options options) : options_(std::move(options)) {}
  absl::Status Open();
  absl::Status WritePortFile() const;
  // Tells health what the adapter says of itself, and gives signs of life, until Stop.
  void FollowReadiness();
  // Whether the server's threads answer.
  bool Answers() const;

  const Options options_;
  std::unique_ptr<tls::CertificateFiles> certificates_;  // null: there are none
  rpc::Metrics metrics_;
  std::unique_ptr<Adapter> adapter_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::MetricsEndpoint> metrics_endpoint_;
  Stopper stopper_;
  std::unique_ptr<daemon::Life> life_;
  std::thread follower_;
};

}  // namespace muster::kubernetes
