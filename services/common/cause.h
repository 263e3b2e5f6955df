#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// What operators read of an error and callers do not, e.g. libpq's words, which name hosts, paths
// and users. It goes into logs, never into an answer.
namespace muster::error {

// `status` with that cause; an OK one as it is.
absl::Status WithCause(absl::Status status, absl::string_view cause);
// Empty: there is none.
std::string CauseOf(const absl::Status& status);
// Message and cause, for those who run Muster.
std::string ForOperators(const absl::Status& status);

}  // namespace muster::error
