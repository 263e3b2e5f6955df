#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/access/policy_file.h"
#include "services/common/mutex.h"
#include "services/rpc/guard.h"
#include "services/rpc/limits.h"
#include "services/rpc/metrics.h"

namespace muster::rpc {
namespace internal {
struct ServerCore;
class InterceptorFactory;
}  // namespace internal

// A service and its full name, e.g. {QuotaService::service_full_name(), &handlers}.
struct NamedService {
  std::string name = {};
  grpc::Service* service = nullptr;                 // not owned; must outlive the Server
  access::PlaceOf place_of = &access::PlaceOfName;  // of its resources
  access::CatchUp catch_up = {};   // of the state that place_of reads; null: it reads none
  access::Answered answered = {};  // by the same state; null: no answers are kept
};

struct ServerOptions {
  std::vector<std::string> addresses = {};  // `127.0.0.1:0`, `unix:path`; none: only in process
  std::vector<NamedService> services =
      {};                      // their unary RPCs use unary.h, their streams watch_stream.h
  Metrics* metrics = nullptr;  // required; must outlive the Server
  std::shared_ptr<grpc::ServerCredentials> credentials = {};  // null: plain text
  // Who may call what; must outlive the Server. Null: everybody may call everything.
  const Guard* guard = nullptr;
  bool reflection = true;
  // Methods, e.g. `/muster.quota.v1.QuotaService/AuditQuotas`, that are answered PERMISSION_DENIED.
  std::set<std::string> closed = {};
  int max_receive_bytes = kMaxReceiveBytes;
  absl::Duration default_deadline = kDefaultDeadline;
  absl::Duration drain_delay = kDrainDelay;
  absl::Duration shutdown_grace = kShutdownGrace;
  // Called once, when the grace is over: is to answer every call whose work was not begun. May be
  // null.
  std::function<void()> stop_intake = {};
};

// A gRPC server on the callback API, with health, reflection, metrics and limits. Thread-safe.
//
// Health (grpc.health.v1): the server as a whole is the service ""; all are NOT_SERVING until
// SetServing says otherwise.
class Server {
 public:
  // Looks at the options, opens nothing. INVALID_ARGUMENT: a service without a descriptor, no
  // metrics.
  static absl::StatusOr<std::unique_ptr<Server>> Create(ServerOptions options);
  // Shutdown, if nobody did.
  ~Server();

  // Binds and serves. UNAVAILABLE: an address cannot be bound (two servers never share one). Once.
  absl::Status Start();

  // The port of the `index`th address; what was picked if it was 0. After Start.
  int port(size_t index = 0) const { return ports_[index]; }
  // A channel to this server without a socket. After Start; must not be used after Shutdown.
  std::shared_ptr<grpc::Channel> InProcessChannel();

  // What health says of a service (its full name) or of the server (""). After Start; without
  // effect after Shutdown began.
  void SetServing(const std::string& service, bool serving);
  // Of the server and of all its services.
  void SetAllServing(bool serving);

  // To be called when the policy has changed: ends the watches of callers that have other rights by
  // now (Guard::Outdated). They may begin anew.
  void EndOutdatedWatches();

  // Ends in order: health says NOT_SERVING; after drain_delay open watches end with UNAVAILABLE,
  // and no call is taken any more; after shutdown_grace stop_intake is called, and what is still
  // unanswered is answered UNKNOWN without a time to retry: its work was begun, and may yet be
  // done. Blocks until the last call is done. Idempotent.
  void Shutdown();

 private:
  explicit Server(ServerOptions options);

  std::unique_ptr<internal::InterceptorFactory> MakeFactory();

  const ServerOptions options_;
  const std::unique_ptr<internal::ServerCore> core_;
  std::vector<int> ports_;
  std::vector<std::unique_ptr<grpc::Service>> checked_;  // options_.services, as gRPC has them
  grpc::CallbackGenericService nothing_;                 // instead of services where there are none
  std::unique_ptr<grpc::Server> server_;
  Mutex shutdown_mutex_;
  bool shut_down_ MUSTER_GUARDED_BY(shutdown_mutex_) = false;
};

}  // namespace muster::rpc
