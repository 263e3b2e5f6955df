#pragma once

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/rpc/server_metrics.h"

namespace prometheus {
class Exposer;
}  // namespace prometheus

namespace muster::rpc {

// All metrics of a process: made once at start-up and handed to whatever measures. Thread-safe.
class Metrics {
 public:
  // With `process_*`, `muster_build_info`, `muster_log_*` and `muster_trace_*` in it.
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // For counters, gauges and histograms of a component: register them at start-up (a bad or
  // clashing name throws).
  prometheus::Registry& registry() { return *registry_; }
  // `grpc_server_*`.
  ServerMetrics& server() { return *server_; }
  // Adds gauges that are made at scrape time from a snapshot of the state. At start-up, before
  // anything is exposed.
  void Add(std::shared_ptr<prometheus::Collectable> collectable);

  // Everything as Prometheus reads it.
  std::string Text() const;

 private:
  friend class MetricsEndpoint;
  const std::shared_ptr<prometheus::Registry> registry_;
  const std::shared_ptr<ServerMetrics> server_;
  std::vector<std::shared_ptr<prometheus::Collectable>> all_;
};

// Serves `GET /metrics` over HTTP until it is destroyed. On loopback only addresses and `localhost`
// are taken as Host: with another name a foreign web page may have led a browser of this machine
// here (IsOurHost).
class MetricsEndpoint {
 public:
  // `address`: `127.0.0.1:9100`; port 0 picks one. `metrics` must outlive it. UNAVAILABLE: the
  // address cannot be bound.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Create(const Metrics& metrics,
                                                                 const std::string& address);
  ~MetricsEndpoint();

  int port() const;

 private:
  MetricsEndpoint(std::string address, std::unique_ptr<prometheus::Exposer> exposer);

  const std::string address_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace muster::rpc
