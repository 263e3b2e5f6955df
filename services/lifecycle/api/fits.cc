#include "services/lifecycle/api/fits.h"

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/error.h"
#include "services/lifecycle/core/text.h"
#include "services/lifecycle/peers/wire/peer_wire.h"

namespace muster::lifecycle {
namespace {

std::string NumbersOf(const v1::NodePoolPreview::Quota& told) {
  return absl::StrCat("limit ", told.limit(), ", held ", told.held(), ", ",
                      CountText(told.nodes(), "Node"), " wanted by this NodePool");
}

absl::Status Exhausted(const Pool& pool, const v1::NodePoolPreview::Quota& told,
                       absl::string_view reason, absl::string_view why) {
  const std::string quota = QuotaNameOf(pool);
  return muster::error::Make(absl::StatusCode::kResourceExhausted,
                             absl::StrCat(quota, " ", why, ": ", NumbersOf(told), "."),
                             {.reason = std::string(reason),
                              .metadata = {{"limit", absl::StrCat(told.limit())},
                                           {"held", absl::StrCat(told.held())},
                                           {"asked", absl::StrCat(told.nodes())}},
                              .resource = quota});
}

}  // namespace

absl::Status CheckFits(const Pool& pool, const v1::NodePoolPreview::Quota& told) {
  if (told.reason() == reason::kUnder) return absl::OkStatus();
  if (told.reason() == reason::kOver)
    return Exhausted(pool, told, "QUOTA_EXCEEDED", "has no room for it");
  if (told.reason() == reason::kNotSet)
    return Exhausted(pool, told, "QUOTA_NOT_SET", "is not set, so that no Nodes can be had");
  return muster::error::Unavailable(
      "Quota could not be asked whether it covers this; without must_fit it is not asked.");
}

std::string QuotaWarning(const Pool& pool, const v1::NodePoolPreview::Quota& told) {
  if (told.reason() == reason::kUnder) return "";
  if (told.reason() != reason::kOver && told.reason() != reason::kNotSet)
    return absl::StrCat("Whether ", QuotaNameOf(pool),
                        " covers it is not known: quota did not say.");
  const bool is_set = told.reason() != reason::kNotSet;
  return absl::StrCat(QuotaNameOf(pool), is_set ? " does not cover it" : " is not set", " (",
                      NumbersOf(told), "): no further Node is granted until it does.");
}

}  // namespace muster::lifecycle
