#include "services/lifecycle/api/fits.h"

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/common/error.h"
#include "services/lifecycle/peers/wire/peer_wire.h"

namespace muster::lifecycle {
namespace {

std::string NumbersText(const v1::NodePoolPreview::Quota& told) {
  return absl::StrCat("limit ", told.limit(), ", held ", told.held(), ", ",
                      CountText(told.nodes(), "Node"), " wanted by this NodePool");
}

absl::Status Exhausted(const Pool& pool, const v1::NodePoolPreview::Quota& told,
                       absl::string_view reason, absl::string_view why) {
  const std::string quota = QuotaNameOf(pool);
  return muster::error::Make(absl::StatusCode::kResourceExhausted,
                             absl::StrCat(quota, " ", why, ": ", NumbersText(told), "."),
                             {.reason = std::string(reason),
                              .metadata = {{"limit", absl::StrCat(told.limit())},
                                           {"held", absl::StrCat(told.held())},
                                           {"asked", absl::StrCat(told.nodes())}},
                              .resource = quota});
}

// Whether quota was asked and will never say otherwise. What only keeps this server from asking
// (its rights, its share of calls, an outage) is nothing to the caller, and quota counts as away.
bool WasRefused(const QuotaTold& told) {
  return absl::IsFailedPrecondition(told.status) &&
         muster::error::DetailOf(told.status).has_value();
}

}  // namespace

absl::Status CheckFits(const Pool& pool, const QuotaTold& told) {
  if (WasRefused(told)) return told.status;
  const absl::string_view verdict = told.numbers.reason();
  if (verdict == reason::kUnder) return absl::OkStatus();
  if (verdict == reason::kOver)
    return Exhausted(pool, told.numbers, "QUOTA_EXCEEDED", "has no room for it");
  if (verdict == reason::kNotSet)
    return Exhausted(pool, told.numbers, "QUOTA_NOT_SET",
                     "is not set, so that no Nodes can be had");
  return muster::error::Unavailable(
      "Quota could not be asked whether it covers this; without must_fit it is not asked.");
}

std::string QuotaWarning(const Pool& pool, const QuotaTold& told) {
  const absl::string_view verdict = told.numbers.reason();
  if (verdict == reason::kUnder) return "";
  if (verdict != reason::kOver && verdict != reason::kNotSet) {
    const absl::string_view why = WasRefused(told) ? told.status.message() : "quota did not say.";
    return absl::StrCat("Whether ", QuotaNameOf(pool), " covers it is not known: ", why);
  }
  const bool is_set = verdict != reason::kNotSet;
  return absl::StrCat(QuotaNameOf(pool), is_set ? " does not cover it" : " is not set", " (",
                      NumbersText(told.numbers), "): no further Node is granted until it does.");
}

}  // namespace muster::lifecycle
