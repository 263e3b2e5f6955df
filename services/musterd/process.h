#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "services/access/policy_file.h"
#include "services/common/clock.h"
#include "services/common/cpu_share.h"
#include "services/common/memory_limit.h"
#include "services/musterd/conninfo.h"
#include "services/musterd/options.h"
#include "services/musterd/service_part.h"
#include "services/musterd/vital_signs.h"
#include "services/rpc/guard.h"
#include "services/rpc/listener_watch.h"
#include "services/rpc/metrics.h"
#include "services/rpc/server.h"
#include "services/tls/certificate_files.h"
#include "services/tokens/token_checker.h"

namespace muster::capacity {
class CapacityService;
}
namespace muster::configuration {
class ConfigurationService;
}
namespace muster::lifecycle {
class LifecycleService;
}
namespace muster::page {
class Page;
struct ServiceHealth;
}  // namespace muster::page
namespace muster::quota {
class QuotaService;
}

namespace muster::musterd {

class AccessHandlers;
class HistoryHandlers;
class DatabaseMetrics;
class DebugHandlers;

// A running `musterd serve`. Made by main, and by tests.
class Process {
 public:
  // Checks the schemas, loads the services, opens the ports, starts to reconcile. Errors:
  // INVALID_ARGUMENT options; FAILED_PRECONDITION a schema is not what the migrations say;
  // UNAVAILABLE database away or port taken.
  static absl::StatusOr<std::unique_ptr<Process>> Start(const ServeOptions& options);
  ~Process();

  // Stops in reverse order: no new work, streams and calls drained, lanes, nothing lost. Blocks.
  // Idempotent.
  void Shutdown();

  // Looks at the files of TLS now. INVALID_ARGUMENT: they cannot be used, and the last usable ones
  // stay in use.
  absl::Status ReloadCertificates();
  // Looks at the policy file now. INVALID_ARGUMENT: it cannot be used, and the last policy stays.
  absl::Status ReloadPolicy() { return policy_->Reload(); }
  // Looks at the file of the connection string now. INVALID_ARGUMENT: it cannot be used, and the
  // last one stays.
  absl::Status ReloadConninfo() { return conninfo_->Reload(); }
  // Looks at the keys of tokens now. INVALID_ARGUMENT: they cannot be used, and the last stay.
  absl::Status ReloadTokenKeys();

  // Why the process has sent itself a SIGTERM; empty: it has not.
  std::string failure() const { return vital_signs_->failure(); }

  int port() const { return server_->port(); }
  int metrics_port() const { return metrics_endpoint_->port(); }
  int operator_port() const { return operator_server_->port(); }
  // 0: there is no such listener.
  int health_port() const { return health_server_ == nullptr ? 0 : health_server_->port(); }
  // 0: there is no page.
  int page_port() const;
  std::shared_ptr<grpc::Channel> channel() { return server_->InProcessChannel(); }

 private:
  explicit Process(ServeOptions options);

  absl::Status CheckSchemas() const;
  absl::Status ReadCertificates();
  absl::Status ReadPolicy();
  absl::Status ReadConninfo();
  // From here on until Shutdown, ends the watches of callers whose rights change.
  void FollowPolicy();
  // A service that is being made; not valid: this process does not serve it.
  template <class Service>
  using Loading = std::future<absl::StatusOr<std::unique_ptr<Service>>>;
  template <class Service, class Options>
  Loading<Service> Load(absl::string_view service, const Options& options) const;
  absl::Status CreateServices();
  void AddDatabaseMetrics();
  // What every process serves beside its services: who may do what, and their history.
  std::vector<rpc::NamedService> CreateSharedServices();
  rpc::NamedService History() const;
  absl::Status StartServer();
  absl::Status StartOperatorServer();
  absl::Status StartHealthServer();
  void FollowVitalSigns();
  absl::Status StartReconciling();
  absl::Status StartPage();
  std::vector<page::ServiceHealth> HealthOfParts() const;
  absl::Status WritePortFile() const;
  storage::LaneOptions LaneOptionsFor(absl::string_view service) const;
  template <class Options>
  Options WithLane(absl::string_view service, Options options) const;
  // Whether the listener at `address` takes mutual TLS; else plain text.
  bool Secured(const std::string& address) const;
  // How this process checks whether its own listener answers.
  rpc::ListenerWatch::Options OwnListener(const std::string& listen, int port) const;
  // The credentials of the listener at `address`; null: plain text.
  std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const std::string& address,
                                                             bool names_optional) const;
  std::shared_ptr<grpc::Channel> ChannelTo(absl::string_view service, const std::string& address);
  template <class Service>
  void AddPart(absl::string_view name, const char* full_name, Service& service);

  const ServeOptions options_;
  std::unique_ptr<tls::CertificateFiles> certificates_;  // null: plain text
  std::unique_ptr<access::PolicyFile> policy_;
  const SystemClock system_clock_;
  std::unique_ptr<tokens::TokenChecker> tokens_;  // null: none is taken
  MemoryLimit memory_;
  std::unique_ptr<rpc::Guard> guard_;
  // What answers, audits and comparisons that take long rest by, all together.
  const std::shared_ptr<CpuShare> slow_work_ = std::make_shared<CpuShare>();
  std::shared_ptr<Conninfo> conninfo_;
  const std::shared_ptr<storage::WritableHost> writable_host_ =
      std::make_shared<storage::WritableHost>();
  rpc::Metrics metrics_;
  std::shared_ptr<DatabaseMetrics> database_metrics_;
  std::unique_ptr<quota::QuotaService> quota_;
  std::unique_ptr<capacity::CapacityService> capacity_;
  std::unique_ptr<configuration::ConfigurationService> configuration_;
  std::unique_ptr<lifecycle::LifecycleService> lifecycle_;
  std::vector<ServicePart> parts_;
  std::unique_ptr<AccessHandlers> access_;
  std::unique_ptr<HistoryHandlers> history_;
  std::unique_ptr<DebugHandlers> debug_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::Server> operator_server_;
  std::unique_ptr<rpc::Server> health_server_;  // null: none
  std::unique_ptr<rpc::MetricsEndpoint> metrics_endpoint_;
  std::unique_ptr<page::Page> page_;
  std::unique_ptr<VitalSigns> vital_signs_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace muster::musterd
