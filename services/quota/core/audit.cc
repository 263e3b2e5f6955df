#include "services/quota/core/audit.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace muster::quota {
namespace {

struct Sum {
  int64_t nodes = 0;
  int64_t largest = 0;
};

void AuditKey(const State& state, const std::string& quota, const Sum& sum,
              std::vector<std::string>& faults) {
  const KeyUse& use = state.UseOf(quota);
  if (use.held() != sum.nodes) {
    faults.push_back(absl::StrCat(quota, ": ", use.held(), " counted as held, the holdings are ",
                                  sum.nodes, "."));
  }
  const Holders holders = use.HoldersBeside("", 0, 1);
  const int64_t largest = holders.largest.empty() ? 0 : holders.largest.front().nodes;
  if (largest != sum.largest) {
    faults.push_back(absl::StrCat(quota, ": the largest holder is listed with ", largest,
                                  ", the largest holding is ", sum.largest, "."));
  }
}

void AuditReleased(const State& state, const Holding& row, std::vector<std::string>& faults) {
  const ReleasedPool* released = FindReleased(state, row.pool_uid);
  if (released != nullptr && row.update_time > released->release_time)
    faults.push_back(absl::StrCat(row.Key(), " was charged after its pool was released."));
}

}  // namespace

std::vector<std::string> Audit(const State& state) {
  std::vector<std::string> faults;
  std::map<std::string, Sum> sums;
  for (const auto& [name, holding] : state.table<Holding>().rows()) {
    const Holding& row = *holding.row;
    Sum& sum = sums[row.quota];
    sum.nodes += row.nodes;
    sum.largest = std::max(sum.largest, row.nodes);
    if (row.nodes < 0 || row.generation < 1)
      faults.push_back(
          absl::StrCat(name, " has ", row.nodes, " Nodes by generation ", row.generation, "."));
    AuditReleased(state, row, faults);
  }
  for (const auto& [name, quota] : state.table<Quota>().rows()) sums.try_emplace(name);
  for (const auto& [quota, sum] : sums) AuditKey(state, quota, sum, faults);
  return faults;
}

}  // namespace muster::quota
