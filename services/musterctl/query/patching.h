#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::musterctl {

// The object after a patch; `type` is `merge` (RFC 7386) or `json` (RFC 6902). INVALID_ARGUMENT:
// the patch is bad; FAILED_PRECONDITION: a `test` of it fails, or the object has not a path that it
// names.
absl::StatusOr<nlohmann::json> Patched(const nlohmann::json& object, absl::string_view type,
                                       absl::string_view patch);

}  // namespace muster::musterctl
