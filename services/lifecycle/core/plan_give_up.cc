// Nodes that are given up because time went by: at most a share of the pool within an interval. The
// count is a row's, so that a restart or another leader does not begin anew.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/lifecycle/core/planner.h"

namespace muster::lifecycle {

int64_t Planner::MostGivenUp() const {
  const auto nodes = static_cast<int64_t>(snapshot_.nodes.size());
  return std::max<int64_t>(1, nodes * policy().give_up_percent / 100);
}

bool Planner::MayGiveUp() const {
  const GivenUp& given_up = account_.given_up;
  return given_up.nodes < MostGivenUp() || now() >= given_up.since + policy().give_up_interval;
}

// One more; the first after an interval begins the next.
void Planner::CountGivenUp() {
  GivenUp& given_up = account_.given_up;
  if (given_up.nodes == 0 || now() >= given_up.since + policy().give_up_interval) {
    given_up = {0, now(), false};
  }
  ++given_up.nodes;
}

void Planner::SayGiveUpLimit() {
  std::vector<std::string> late;
  if (late_boots_ > 0) {
    late.push_back(absl::StrCat(CountText(late_boots_, "Node"), " past the boot deadline"));
  }
  if (late_repairs_ > 0) {
    late.push_back(absl::StrCat(CountText(late_repairs_, "Node"), " unhealthy for too long"));
  }
  if (late_unheld_ > 0) {
    late.push_back(absl::StrCat(CountText(late_unheld_, "Node"), " whose machine is not held"));
  }
  if (late.empty()) return;
  const absl::Time next = account_.given_up.since + policy().give_up_interval;
  Wait(DeferReason::kGiveUpLimit, pool_.name,
       absl::StrCat("Not given up yet: ", absl::StrJoin(late, ", "), "; at most ", MostGivenUp(),
                    " of this NodePool are given up in ",
                    absl::FormatDuration(policy().give_up_interval), ", the next at ",
                    TimeText(next), "."),
       next);
}

}  // namespace muster::lifecycle
