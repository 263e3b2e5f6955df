#include "services/access/caller.h"

#include <functional>

#include "absl/strings/string_view.h"

namespace muster::access {

uint64_t TurnOf(const Caller& caller) {
  if (caller.principal == kSelf) return 0;
  const std::string organization = caller.rights->Of(Verb::kRead).OnlyOrganization();
  return std::hash<std::string>()(organization.empty() ? caller.principal : organization);
}

std::string AccountOf(const Caller& caller) {
  const Scope& reads = caller.rights->Of(Verb::kRead);
  if (reads.everywhere()) return "";
  std::string organization = reads.OnlyOrganization();
  return organization.empty() ? caller.principal : organization;
}

}  // namespace muster::access
