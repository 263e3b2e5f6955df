#include "services/quota/core/errors.h"

#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/common/error.h"

namespace muster::error {
namespace {

absl::Status Exhausted(absl::string_view reason, absl::string_view quota, absl::string_view message,
                       int64_t limit, int64_t held, int64_t asked) {
  return Make(absl::StatusCode::kResourceExhausted, message,
              {.reason = std::string(reason),
               .metadata = {{"limit", absl::StrCat(limit)},
                            {"held", absl::StrCat(held)},
                            {"asked", absl::StrCat(asked)}},
               .resource = std::string(quota)});
}

}  // namespace

absl::Status QuotaExceeded(absl::string_view quota, int64_t limit, int64_t held, int64_t own,
                           int64_t asked) {
  return Exhausted("QUOTA_EXCEEDED", quota,
                   absl::StrCat(quota, " has no room for ", CountText(asked, "Node"), ": limit ",
                                limit, ", held ", held, ", of which ", own, " by the pool itself."),
                   limit, held, asked);
}

absl::Status QuotaNotSet(absl::string_view quota, int64_t held, int64_t asked) {
  return Exhausted("QUOTA_NOT_SET", quota,
                   absl::StrCat(quota, " is not set: no Nodes can be had, ", asked,
                                asked == 1 ? " was" : " were", " asked for."),
                   0, held, asked);
}

}  // namespace muster::error
