#pragma once

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/kubernetes/api/client_options.h"
#include "services/kubernetes/api/endpoint.h"
#include "services/kubernetes/api/errors.h"

namespace muster::kubernetes {

// How a patch is to be read.
enum class PatchType {
  kApply,  // server-side apply: `application/apply-patch+yaml`
  kMerge,  // RFC 7386
  kJson,   // RFC 6902
};

// A Kubernetes API server over HTTP, one request a call, from any thread (each call blocks its
// caller). Paths are the server's, e.g. `/apis/compute.coreweave.com/v1alpha1/nodepools/a`.
//
// Errors: INVALID_ARGUMENT (400, 422, 413, 415), UNAUTHENTICATED (401), PERMISSION_DENIED (403),
// NOT_FOUND (404), ALREADY_EXISTS (409 of that reason), ABORTED (409), OUT_OF_RANGE (410),
// RESOURCE_EXHAUSTED (429, or an answer of more than max_answer bytes), UNAVAILABLE (5xx, no
// connection), DEADLINE_EXCEEDED (no answer in time), CANCELLED (stopped), UNKNOWN (else); also
// ABORTED where may_write forbids the request. The message is the server's. See ErrorOf for the
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

  // Lists all objects of a collection, page by page, and hands each to `take` as it comes, with
  // `apiVersion` and `kind`. Returns the resourceVersion that a watch can begin from. OUT_OF_RANGE:
  // a continue token expired midway (objects may have been taken by then).
  absl::StatusOr<std::string> List(absl::string_view path, const Parameters& parameters,
                                   absl::FunctionRef<void(Json object)> take);

  // Streams what happens to a collection after `resource_version`, with bookmarks, for a random 5
  // to 10 minutes: (`ADDED` | `MODIFIED` | `DELETED` | `BOOKMARK`, object). Returns OK when the
  // server ended the stream, OUT_OF_RANGE for 410 as status or as ERROR event, UNAVAILABLE for a
  // stream that broke, DEADLINE_EXCEEDED for one that fell silent, CANCELLED when `take` returned
  // false or on Stop.
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

}  // namespace muster::kubernetes
