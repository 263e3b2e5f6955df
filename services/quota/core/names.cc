#include "services/quota/core/names.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/quota_name.h"
#include "services/common/resource_name.h"

namespace muster::quota {

absl::string_view ToString(ComputeClass compute_class) {
  switch (compute_class) {
    case ComputeClass::kDefault:
      return "default";
    case ComputeClass::kSpot:
      return "spot";
  }
  return "";
}

std::optional<ComputeClass> ParseComputeClass(absl::string_view text) {
  if (text == "default") return ComputeClass::kDefault;
  if (text == "spot") return ComputeClass::kSpot;
  return std::nullopt;
}

std::string QuotaName(const QuotaKey& key) {
  return QuotaNameOf(key.organization,
                     QuotaIdOf(key.zone, key.instance_type, ToString(key.compute_class)));
}

std::optional<QuotaKey> ParseQuotaName(absl::string_view name) {
  const auto parts = MatchName("organizations/*/quotas/*", name);
  if (!parts) return std::nullopt;
  const std::vector<std::string> key = absl::StrSplit((*parts)[1], '~');
  if (key.size() != 3) return std::nullopt;
  const auto compute_class = ParseComputeClass(key[2]);
  if (!IsDnsLabel((*parts)[0]) || !IsZoneId(key[0]) || !IsInstanceTypeId(key[1]) || !compute_class)
    return std::nullopt;
  return QuotaKey{(*parts)[0], key[0], key[1], *compute_class};
}

bool Matches(const KeyFilter& filter, absl::string_view quota_name) {
  // Asked of every row of a list: nothing is copied.
  const std::pair<absl::string_view, absl::string_view> zone_rest =
      absl::StrSplit(LastIdOf(quota_name), absl::MaxSplits('~', 1));
  const std::pair<absl::string_view, absl::string_view> type_class =
      absl::StrSplit(zone_rest.second, absl::MaxSplits('~', 1));
  return (filter.zone.empty() || filter.zone == zone_rest.first) &&
         (filter.instance_type.empty() || filter.instance_type == type_class.first) &&
         (!filter.compute_class || ToString(*filter.compute_class) == type_class.second);
}

std::string ToString(const HoldingName& name) {
  return absl::StrCat(name.quota, "/holdings/", name.pool_uid);
}

std::optional<HoldingName> ParseHoldingName(absl::string_view name) {
  // The last one: an organization may be called so, too.
  const size_t at = name.rfind("/holdings/");
  if (at == absl::string_view::npos) return std::nullopt;
  HoldingName parsed{std::string(name.substr(0, at)),
                     std::string(name.substr(at + sizeof("/holdings/") - 1))};
  if (!ParseQuotaName(parsed.quota) || !IsPoolUid(parsed.pool_uid)) return std::nullopt;
  return parsed;
}

}  // namespace muster::quota
