#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/kubernetes/api/server_address.h"

namespace muster::kubernetes {

struct HttpRequest {
  absl::string_view method = {};
  std::string path = {};                // as the server knows it: begins with `/`, unescaped
  std::string query = {};               // escaped, without `?`
  std::string token = {};               // bearer token; empty: none
  absl::string_view content_type = {};  // of `body`
  std::string body = {};                // empty: none is sent
  // Asked when the connection stands, just before the request is sent; false: it is not sent
  // (ABORTED). Null: it always is.
  const std::function<bool()>* may_send = nullptr;
};

struct HttpResponse {
  int code = 0;
  absl::Duration retry_after = absl::ZeroDuration();  // of its header; 0 without
  std::string body = {};
};

// What all connections have in common.
struct ConnectionSettings {
  ServerAddress address = {};
  std::string certificate_authority = {};  // empty: the system's
  bool skip_server_verification = false;
  std::string client_certificate = {};
  std::string client_key = {};
  // Files win over the texts above, and are read for each connection that is made.
  std::string certificate_authority_file = {};
  std::string client_certificate_file = {};
  std::string client_key_file = {};
  std::string as = {};  // on whose behalf; empty: our own
  std::vector<std::string> as_groups = {};
  std::string user_agent = {};
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration timeout = absl::Seconds(30);   // until an answer is whole, of a stream: has begun
  absl::Duration silence = absl::Seconds(150);  // of a stream that has begun
  size_t max_answer = 0;                        // bytes; of a stream: those not taken yet
};

// A TCP connection that is kept from one exchange to the next, and made anew when it has to be, on
// libcurl. One exchange at a time.
class Connection {
 public:
  using Take = absl::FunctionRef<bool(absl::string_view bytes)>;

  // `settings` must outlive it.
  static absl::StatusOr<std::unique_ptr<Connection>> Create(const ConnectionSettings* settings);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Any HTTP status is an answer. With `take` the body of a 2xx answer goes there in pieces as it
  // comes, until that returns false, and `began` is told the status before. Errors: UNAVAILABLE (no
  // connection, a broken answer), DEADLINE_EXCEEDED (a stream that fell silent, too), CANCELLED
  // (`stopped` was set: follow it with Wake), RESOURCE_EXHAUSTED (an answer that is too large),
  // INVALID_ARGUMENT (a path that cannot be one), ABORTED (may_send said no). Messages name the
  // request without its query, and no secret.
  absl::StatusOr<HttpResponse> Exchange(const HttpRequest& request, const Take* take,
                                        const std::atomic<bool>& stopped,
                                        absl::FunctionRef<void(int code)> began);
  // Makes an exchange look at `stopped`. Thread-safe.
  void Wake();

 private:
  struct Handles;
  Connection(const ConnectionSettings* settings, std::unique_ptr<Handles> handles);
  void SetHeaders(const HttpRequest& request) const;
  void SetUp(const HttpRequest& request, bool stream) const;
  void SetTls() const;

  const ConnectionSettings& settings_;
  const std::unique_ptr<Handles> handles_;
};

}  // namespace muster::kubernetes
