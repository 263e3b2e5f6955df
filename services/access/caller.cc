#include "services/access/caller.h"

#include <functional>

#include "absl/strings/string_view.h"

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

}  // namespace muster::access
