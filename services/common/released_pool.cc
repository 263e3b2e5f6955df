#include "services/common/released_pool.h"

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"

namespace muster {

absl::Status CheckReleasedKeep(absl::Duration keep) {
  if (keep >= kMinReleasedKeep) return absl::OkStatus();
  return error::InvalidField(
      "released_keep", absl::StrCat("must be at least ", absl::FormatDuration(kMinReleasedKeep),
                                    ", longer than any call can be under way."));
}

}  // namespace muster

namespace muster::error {

absl::Status PoolReleased(absl::string_view resource, const ReleasedPool& released) {
  return Make(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat(resource, ": the pool with uid ", released.pool_uid,
                   " was released; what was released does not come back."),
      {.reason = kPoolReleased,
       .metadata = {{"pool_uid", released.pool_uid},
                    {"release_time", absl::FormatTime(absl::RFC3339_full, released.release_time,
                                                      absl::UTCTimeZone())}},
       .resource = std::string(resource)});
}

}  // namespace muster::error
