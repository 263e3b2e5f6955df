#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::musterctl {

// An object after a patch: `merge` (RFC 7386) or `json` (RFC 6902). INVALID_ARGUMENT says what of it does not fit;
// FAILED_PRECONDITION: a `test` of it fails.
absl::StatusOr<nlohmann::json> Patched(const nlohmann::json& object, absl::string_view type,
                                       absl::string_view patch);

}  // namespace muster::musterctl
