#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/kubernetes/api/client_options.h"

namespace muster::kubernetes {

// What an API server said of a request that it refused; all empty for other errors.
struct ApiError {
  int code = 0;                                                  // HTTP status
  std::string reason = {};                                       // e.g. `Invalid`, `Conflict`
  absl::Duration retry_after = absl::ZeroDuration();             // 0: it did not say
  std::vector<std::pair<std::string, std::string>> causes = {};  // details.causes: reason, message
};
ApiError ErrorOf(const absl::Status& status);
// Whether the server refused what was asked, as rights, admission policies and schemas do: it will
// the next time. Not so where it is away, busy, or lost a race.
bool IsForbiddenOrInvalid(const absl::Status& status);

// The longest pause that an API server may ask for. One that asks for more (eleven days were seen)
// would be out of sight until somebody starts the adapter again.
inline constexpr absl::Duration kMaxRetryAfter = absl::Minutes(5);

// The value of a JSON text; discarded (is_discarded) for what is no JSON, or is nested deeper than
// anything that Kubernetes says: a megabyte of `[` costs thirty of memory.
Json ParseJson(absl::string_view text);

// The error that an HTTP status other than 2xx stands for, as documented at Client. `what` names
// the request, for a body that is no `metav1.Status`. `retry_after`: of the header, 0 without;
// kMaxRetryAfter at most counts.
absl::Status StatusOfAnswer(absl::string_view what, int code, absl::string_view body,
                            absl::Duration retry_after);
// The same for a `metav1.Status` that came as an ERROR event of a watch.
absl::Status StatusOfEvent(absl::string_view what, const Json& object);
// UNAVAILABLE for a request that is not sent until `pause` is over, which ErrorOf().retry_after
// tells.
absl::Status HeldBack(absl::string_view what, absl::Duration pause);

}  // namespace muster::kubernetes
