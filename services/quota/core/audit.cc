#include "services/quota/core/audit.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::quota {
namespace {

struct Sum {
  int64_t nodes = 0;
  int64_t largest = 0;
};

// As the state counts them.
Sum CountedOf(const State& state, const std::string& quota) {
  const KeyUse& use = state.UseOf(quota);
  const Holders holders = use.HoldersBeside("", 0, 1);
  return {use.held(), holders.largest.empty() ? 0 : holders.largest.front().nodes};
}

void AuditKey(const std::string& quota, const Sum& counted, const Sum& sum,
              std::vector<std::string>& faults) {
  if (counted.nodes != sum.nodes) {
    faults.push_back(absl::StrCat(quota, ": ", counted.nodes, " counted as held, the holdings are ",
                                  sum.nodes, "."));
  }
  if (counted.largest != sum.largest) {
    faults.push_back(absl::StrCat(quota, ": the largest holder is listed with ", counted.largest,
                                  ", the largest holding is ", sum.largest, "."));
  }
}

// The part of these keys.
IndexPart<State> PartOfKeys(std::vector<std::string> quotas) {
  return [quotas = std::move(quotas)](const State& memory) -> IndexComparison<State> {
    std::vector<Sum> counted;
    counted.reserve(quotas.size());
    for (const std::string& quota : quotas) counted.push_back(CountedOf(memory, quota));
    return [quotas, counted = std::move(counted)](const State& tables) {
      std::vector<std::string> faults;
      for (size_t i = 0; i < quotas.size(); ++i)
        AuditKey(quotas[i], counted[i], CountedOf(tables, quotas[i]), faults);
      return faults;
    };
  };
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
  for (const auto& [quota, sum] : sums) AuditKey(quota, CountedOf(state, quota), sum, faults);
  return faults;
}

std::vector<IndexPart<State>> IndexParts(const State& tables) {
  std::set<std::string> quotas;
  for (const auto& [name, quota] : tables.table<Quota>().rows()) quotas.insert(name);
  for (const auto& [name, holding] : tables.table<Holding>().rows())
    quotas.insert(holding.row->quota);
  std::vector<IndexPart<State>> parts;
  std::vector<std::string> piece;
  for (const std::string& quota : quotas) {
    piece.push_back(quota);
    if (piece.size() == kPiece) parts.push_back(PartOfKeys(std::exchange(piece, {})));
  }
  if (!piece.empty()) parts.push_back(PartOfKeys(std::move(piece)));
  return parts;
}

}  // namespace muster::quota
