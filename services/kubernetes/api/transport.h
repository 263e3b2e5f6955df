#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/kubernetes/api/client_options.h"
#include "services/kubernetes/api/connection.h"

namespace muster::kubernetes {

// HTTP: one request a call, over connections that are kept, until Stop. Thread-safe; a call blocks
// its caller. Any HTTP status is an answer; errors are those of Connection.
class Transport {
 public:
  // INVALID_ARGUMENT naming what is wrong with the endpoint. Its tokens are not looked at.
  static absl::StatusOr<std::unique_ptr<Transport>> Create(const Endpoint& endpoint,
                                                           const ClientOptions& options);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request);
  // The body of a 2xx answer goes to `take` in pieces as it comes, until that returns false; of any
  // other it is the answer's.
  absl::StatusOr<HttpResponse> Stream(const HttpRequest& request,
                                      absl::FunctionRef<bool(absl::string_view bytes)> take);

  // Ends all calls under way and to come. Thread-safe.
  void Stop();
  // host:port
  absl::string_view host() const { return settings_.address.host; }

 private:
  Transport(ConnectionSettings settings, const ClientOptions& options);
  absl::StatusOr<HttpResponse> Exchange(const HttpRequest& request, const Connection::Take* take);
  absl::StatusOr<std::unique_ptr<Connection>> Acquire();
  void Release(std::unique_ptr<Connection> connection);

  const ConnectionSettings settings_;
  const ClientOptions options_;
  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ MUSTER_GUARDED_BY(mutex_);
  std::set<Connection*> active_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
