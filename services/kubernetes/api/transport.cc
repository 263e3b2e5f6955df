#include "services/kubernetes/api/transport.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/api/server_address.h"

namespace muster::kubernetes {
namespace {

// Tells of a request once: when its answer began, or when it ended without one.
class Report {
 public:
  Report(const std::function<void(const RequestEnd&)>& tell, absl::string_view method)
      : tell_(tell), method_(method) {}
  ~Report() { Tell(0); }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  void Tell(int code) {
    if (std::exchange(told_, true) || !tell_) return;
    tell_({method_, code, absl::FromChrono(std::chrono::steady_clock::now() - begin_)});
  }

 private:
  const std::function<void(const RequestEnd&)>& tell_;
  const absl::string_view method_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> Transport::Create(const Endpoint& endpoint,
                                                             const ClientOptions& options) {
  ConnectionSettings settings;
  ASSIGN_OR_RETURN(settings.address, ParseServerAddress(endpoint));
  RETURN_IF_ERROR(ValidateCertificates(endpoint));
  RETURN_IF_ERROR(ValidateImpersonation(endpoint));
  settings.certificate_authority = endpoint.certificate_authority;
  settings.skip_server_verification = endpoint.skip_server_verification;
  settings.client_certificate = endpoint.client_certificate;
  settings.client_key = endpoint.client_key;
  settings.certificate_authority_file = endpoint.certificate_authority_file;
  settings.client_certificate_file = endpoint.client_certificate_file;
  settings.client_key_file = endpoint.client_key_file;
  settings.as = endpoint.as;
  settings.as_groups = endpoint.as_groups;
  settings.user_agent = options.user_agent;
  settings.connect_timeout = options.connect_timeout;
  settings.timeout = options.timeout;
  settings.silence = options.watch_silence;
  settings.max_answer = options.max_answer;
  return std::unique_ptr<Transport>(new Transport(std::move(settings), options));
}

Transport::Transport(ConnectionSettings settings, const ClientOptions& options)
    : settings_(std::move(settings)), options_(options) {}

absl::StatusOr<HttpResponse> Transport::Send(const HttpRequest& request) {
  return Exchange(request, nullptr);
}

absl::StatusOr<HttpResponse> Transport::Stream(
    const HttpRequest& request, absl::FunctionRef<bool(absl::string_view bytes)> take) {
  return Exchange(request, &take);
}

absl::StatusOr<HttpResponse> Transport::Exchange(const HttpRequest& request,
                                                 const Connection::Take* take) {
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Acquire());
  Report report(options_.on_request, request.method);
  absl::StatusOr<HttpResponse> answer =
      connection->Exchange(request, take, stopped_, [&](int code) { report.Tell(code); });
  Release(std::move(connection));
  if (answer.ok()) report.Tell(answer->code);
  return answer;
}

absl::StatusOr<std::unique_ptr<Connection>> Transport::Acquire() {
  MutexLock lock(mutex_);
  // Under the lock: Stop wakes what is in `active_`.
  if (stopped_) return absl::CancelledError("the client was stopped");
  std::unique_ptr<Connection> connection;
  if (idle_.empty()) {
    ASSIGN_OR_RETURN(connection, Connection::Create(&settings_));
  } else {
    connection = std::move(idle_.back());
    idle_.pop_back();
  }
  active_.insert(connection.get());
  return connection;
}

void Transport::Release(std::unique_ptr<Connection> connection) {
  MutexLock lock(mutex_);
  active_.erase(connection.get());
  if (static_cast<int>(idle_.size()) < options_.max_connections) {
    idle_.push_back(std::move(connection));
  }
}

void Transport::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  for (Connection* connection : active_) connection->Wake();
}

}  // namespace muster::kubernetes
