#include "services/access/caller.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster::access {

namespace {

// The organization that the caller is of, if it is of one only; else its own name.
std::string PartyOf(const Caller& caller) {
  std::string organization = caller.rights->Of(Verb::kRead).OnlyOrganization();
  return organization.empty() ? caller.principal : organization;
}

}  // namespace

uint64_t TurnOf(const Caller& caller) {
  return caller.principal == kSelf ? 0 : std::hash<std::string>()(PartyOf(caller));
}

std::string AccountOf(const Caller& caller) {
  return caller.rights->Of(Verb::kRead).everywhere() ? "" : PartyOf(caller);
}

absl::Status Refusal(const Caller& caller, absl::string_view method, absl::string_view why,
                     absl::string_view verbs) {
  const bool nameless = caller.principal == kAnonymous && caller.rights->none();
  error::Detail detail = {.reason = nameless ? "UNAUTHENTICATED" : "PERMISSION_DENIED",
                          .metadata = {{"principal", caller.principal}}};
  if (!verbs.empty()) detail.metadata.emplace("verb", verbs);
  return error::Make(
      nameless ? absl::StatusCode::kUnauthenticated : absl::StatusCode::kPermissionDenied,
      absl::StrCat("`", caller.principal, "` may not call ", method, why), detail);
}

}  // namespace muster::access
