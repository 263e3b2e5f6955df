#include "services/musterctl/top/trouble.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/top/times.h"

namespace muster::musterctl::top {
namespace {

Trouble Of(const lifecycle::v1::NodePool& pool, const lifecycle::v1::Condition& condition,
           bool stalls) {
  return {&pool, absl::StrCat(condition.type(), ": ", condition.reason()), condition.message(),
          TimeOf(condition.last_transition_time()), stalls};
}

// nullopt: the pool is where it should be. Of several unhealthy conditions the first that does not
// pass with time, else the first. While nobody reconciles, these say what was so before; Ready does
// not.
std::optional<Trouble> TroubleOf(const lifecycle::v1::NodePool& pool) {
  if (pool.has_delete_time())
    return Trouble{&pool, "Deleting", "Its Nodes leave.", TimeOf(pool.delete_time())};
  std::optional<Trouble> found;
  for (const HealthyCondition& condition : kHealthyConditions) {
    const lifecycle::v1::Condition* told = FindCondition(pool, condition.type);
    if (told == nullptr) {
      if (!found)
        found = {&pool, absl::StrCat(condition.type, ": not told yet"), "",
                 TimeOf(pool.create_time())};
    } else if (told->reason() != condition.reason) {
      if (!found || (condition.stalls && !found->stalls)) found = Of(pool, *told, condition.stalls);
    }
  }
  const lifecycle::v1::Condition* unreachable =
      FindCondition(pool, condition::kMaxNodesUnreachable);
  if (!found && unreachable != nullptr && unreachable->status() == condition_status::kTrue)
    found = Of(pool, *unreachable, true);
  const lifecycle::v1::Condition* ready = FindCondition(pool, condition::kReady);
  if (!found && ready != nullptr && ready->status() != condition_status::kTrue)
    found = Of(pool, *ready, false);
  return found;
}

}  // namespace

bool Shows(const Filter& filter, const lifecycle::v1::NodePool& pool) {
  return (filter.zone.empty() || pool.zone() == filter.zone) &&
         (filter.organization.empty() ||
          absl::StartsWith(pool.name(), absl::StrCat("organizations/", filter.organization, "/")));
}

std::vector<Trouble> TroublesOf(const Fleet& fleet, const Filter& filter) {
  std::vector<Trouble> troubles;
  for (const auto& [name, row] : fleet.pools()) {
    if (!Shows(filter, row.pool)) continue;
    if (auto trouble = TroubleOf(row.pool)) troubles.push_back(*std::move(trouble));
  }
  std::stable_sort(troubles.begin(), troubles.end(), [](const Trouble& a, const Trouble& b) {
    return std::make_tuple(!a.stalls, a.since) < std::make_tuple(!b.stalls, b.since);
  });
  return troubles;
}

}  // namespace muster::musterctl::top
