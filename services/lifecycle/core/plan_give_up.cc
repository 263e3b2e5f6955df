// Nodes that are given up because time went by: at most a share of the pool within an interval. The
// count is kept in the pool's row, so that a restart or another leader does not begin anew.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

int64_t MostGivenUp(const PlanFacts& facts) {
  const auto nodes = static_cast<int64_t>(facts.snapshot.nodes.size());
  return std::max<int64_t>(1, nodes * facts.policy.give_up_percent / 100);
}

}  // namespace

bool MayGiveUp(const PlanFacts& facts, const Draft& draft) {
  const GivenUp& given_up = draft.account.given_up;
  return given_up.nodes < MostGivenUp(facts) ||
         facts.now >= given_up.since + facts.policy.give_up_interval;
}

// Counts one more; the first one after an interval begins the next interval.
void CountGivenUp(const PlanFacts& facts, Draft& draft) {
  GivenUp& given_up = draft.account.given_up;
  if (given_up.nodes == 0 || facts.now >= given_up.since + facts.policy.give_up_interval) {
    given_up = {0, facts.now, false};
  }
  ++given_up.nodes;
}

void DeferGivingUp(const PlanFacts& facts, Draft& draft, const LateNodes& nodes) {
  std::vector<std::string> late;
  if (nodes.boots > 0) {
    late.push_back(absl::StrCat(CountText(nodes.boots, "Node"), " past the boot deadline"));
  }
  if (nodes.repairs > 0) {
    late.push_back(absl::StrCat(CountText(nodes.repairs, "Node"), " unhealthy for too long"));
  }
  if (nodes.unheld > 0) {
    late.push_back(absl::StrCat(CountText(nodes.unheld, "Node"), " whose machine is not held"));
  }
  if (late.empty()) return;
  const absl::Time next = draft.account.given_up.since + facts.policy.give_up_interval;
  draft.AddDefer(DeferReason::kGiveUpLimit, facts.pool.name,
                 absl::StrCat("Not given up yet: ", absl::StrJoin(late, ", "), "; at most ",
                              MostGivenUp(facts), " of this NodePool are given up in ",
                              absl::FormatDuration(facts.policy.give_up_interval), ", the next at ",
                              TimeText(next), "."),
                 next);
}

}  // namespace muster::lifecycle
