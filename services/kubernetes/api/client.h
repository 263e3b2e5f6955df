#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "services/kubernetes/api/endpoint.h"

namespace muster::kubernetes {

using Json = nlohmann::json;
// Query parameters as they are meant; the client escapes them.
using Parameters = std::vector<std::pair<std::string, std::string>>;

// How a patch is to be read.
enum class PatchType {
  kApply,  // server-side apply: `application/apply-patch+yaml`
  kMerge,  // RFC 7386
  kJson,   // RFC 6902
};

// One request that ended, for metrics; a watch counts when its answer begins, and all others when
// they have it whole. `code` is the HTTP status, or 0 when there was no answer.
struct RequestEnd {
  absl::string_view method = {};  // GET, POST, ...
  int code = 0;
  absl::Duration duration = absl::ZeroDuration();
};

struct ClientOptions {
  std::string user_agent = "muster-kubernetes";
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration timeout = absl::Seconds(30);  // of one request; watches have none
  int max_connections = 8;                     // idle ones kept; more are opened when needed
  int list_chunk = 500;                        // objects a page
  // A watch on which nothing arrives for so long is dead. Bookmarks come about once a minute.
  absl::Duration watch_silence = absl::Seconds(150);
  // Asked before every request that may change something; false: it is not sent (ABORTED).
  std::function<bool()> may_write = {};
  std::function<void(const RequestEnd&)> on_request = {};  // thread-safe
};

// A Kubernetes API server over HTTP, one request a call, from any thread (each call blocks its
// caller). Paths are the server's, e.g. `/apis/compute.coreweave.com/v1alpha1/nodepools/a`.
//
// Errors: INVALID_ARGUMENT (400, 422, 413, 415), UNAUTHENTICATED (401), PERMISSION_DENIED (403),
// NOT_FOUND (404), ALREADY_EXISTS (409 of that reason), ABORTED (409), OUT_OF_RANGE (410),
// RESOURCE_EXHAUSTED (429), UNAVAILABLE (5xx, no connection), DEADLINE_EXCEEDED (no answer in
// time), CANCELLED (stopped), UNKNOWN (else). The message is the server's. See ErrorOf for the
// rest.
class Client {
 public:
  // INVALID_ARGUMENT for an endpoint that cannot be one. Nothing is sent yet.
  static absl::StatusOr<std::unique_ptr<Client>> Create(Endpoint endpoint, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  absl::StatusOr<Json> Get(absl::string_view path, const Parameters& parameters = {});
  // POST.
  absl::StatusOr<Json> Create(absl::string_view path, const Json& object,
                              const Parameters& parameters = {});
  // PUT.
  absl::StatusOr<Json> Replace(absl::string_view path, const Json& object,
                               const Parameters& parameters = {});
  absl::StatusOr<Json> Patch(PatchType type, absl::string_view path, const Json& patch,
                             const Parameters& parameters = {});
  // `options`: a DeleteOptions object, or null.
  absl::Status Delete(absl::string_view path, const Json& options = nullptr);

  // All objects of a collection, page by page, each handed to `take` as it comes, with `apiVersion`
  // and `kind`.
  // Returns the resourceVersion that a watch can begin from. A continue token that expired midway:
  // OUT_OF_RANGE (objects may have been taken by then).
  absl::StatusOr<std::string> List(absl::string_view path, const Parameters& parameters,
                                   absl::FunctionRef<void(Json object)> take);

  // Streams what happens to a collection after `resource_version`, with bookmarks, for a random 5
  // to 10 minutes: (`ADDED` | `MODIFIED` | `DELETED` | `BOOKMARK`, object). Returns OK when the
  // server ended the stream, OUT_OF_RANGE for 410 as status or as ERROR event, UNAVAILABLE for a
  // stream that broke or fell silent, CANCELLED when `take` returned false or on Stop.
  absl::Status Watch(absl::string_view path, const Parameters& parameters,
                     absl::string_view resource_version,
                     absl::FunctionRef<bool(absl::string_view type, Json object)> take);

  // Ends all requests under way and to come with CANCELLED. Thread-safe.
  void Stop();

  // e.g. `127.0.0.1:6443`.
  absl::string_view host() const;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// What an API server said of a request that it refused; all empty for other errors.
struct ApiError {
  int code = 0;                                                  // HTTP status
  std::string reason = {};                                       // e.g. `Invalid`, `Conflict`
  absl::Duration retry_after = absl::ZeroDuration();             // 0: it did not say
  std::vector<std::pair<std::string, std::string>> causes = {};  // details.causes: reason, message
  bool HasCause(absl::string_view cause) const;
};
ApiError ErrorOf(const absl::Status& status);

}  // namespace muster::kubernetes
