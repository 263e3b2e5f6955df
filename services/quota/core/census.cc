#include "services/quota/core/census.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace muster::quota {
namespace {

constexpr char kOther[] = "other";

// Where a holding counts.
CensusKey KeyOf(const Census& census, const QuotaKey& key) {
  CensusKey own{key.zone, key.instance_type, key.compute_class};
  if (census.keys.contains(own)) return own;
  const auto in_zone = census.keys.lower_bound(CensusKey{.zone = key.zone});
  const bool known = in_zone != census.keys.end() && in_zone->first.zone == key.zone;
  return {known ? key.zone : kOther, kOther, key.compute_class};
}

}  // namespace

void Census::Add(const Quota& quota, int64_t held, absl::Time now) {
  const int64_t limit = LimitAt(quota, now);
  KeyCount& count = keys[{quota.key.zone, quota.key.instance_type, quota.key.compute_class}];
  count.limit += limit;
  count.over += std::max<int64_t>(0, held - limit);
  if (held >= limit) ++count.full;
  if (held > limit) ++count.overruns;
  OrganizationCount& organization = organizations[quota.key.organization];
  organization.organization = quota.key.organization;
  organization.limit += limit;
}

void Census::Add(const Holding& holding, bool has_quota) {
  const std::optional<QuotaKey> key = ParseQuotaName(holding.quota);
  if (!key.has_value()) return;
  KeyCount& count = keys[KeyOf(*this, *key)];
  count.held += holding.nodes;
  if (!has_quota) count.over += holding.nodes;
  OrganizationCount& organization = organizations[key->organization];
  organization.organization = key->organization;
  organization.held += holding.nodes;
}

std::vector<OrganizationCount> Largest(const Census& census, size_t most) {
  std::vector<OrganizationCount> all;
  if (most == 0) return all;
  OrganizationCount other{.organization = kOther};
  for (const auto& [name, count] : census.organizations) {
    if (name != kOther) {
      all.push_back(count);
    } else {
      other = count;
    }
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  const bool others = end != all.end() || census.organizations.contains(kOther);
  std::partial_sort(all.begin(), end, all.end(),
                    [](const OrganizationCount& a, const OrganizationCount& b) {
                      return std::tie(b.held, a.organization) < std::tie(a.held, b.organization);
                    });
  for (auto it = end; it != all.end(); ++it) {
    other.limit += it->limit;
    other.held += it->held;
  }
  all.erase(end, all.end());
  std::sort(all.begin(), all.end(), [](const OrganizationCount& a, const OrganizationCount& b) {
    return a.organization < b.organization;
  });
  if (others) all.push_back(std::move(other));
  return all;
}

}  // namespace muster::quota
