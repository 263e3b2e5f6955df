#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The errors of the quota domain, beside those of services/common/error.h. Both RESOURCE_EXHAUSTED
// with QuotaFailure; the reason is the function's name in UPPER_SNAKE, metadata `limit`, `held` and
// `asked` are Nodes.
namespace muster::error {

// `asked` does not fit: all pools hold `held` of `limit`, of which the asking one `own`.
absl::Status QuotaExceeded(absl::string_view quota, int64_t limit, int64_t held, int64_t own,
                           int64_t asked);
// There is no limit, or it is 0.
absl::Status QuotaNotSet(absl::string_view quota, int64_t held, int64_t asked);

}  // namespace muster::error
