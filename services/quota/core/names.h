#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// Resource names of quota, parsed and printed here and nowhere else.
namespace muster::quota {

enum class ComputeClass { kDefault, kSpot };

absl::string_view ToString(ComputeClass compute_class);
std::optional<ComputeClass> ParseComputeClass(absl::string_view text);

// What a limit is for.
struct QuotaKey {
  std::string organization = {};
  std::string zone = {};
  std::string instance_type = {};
  ComputeClass compute_class = ComputeClass::kDefault;
  bool operator==(const QuotaKey&) const = default;
};

// `organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default`.
std::string QuotaName(const QuotaKey& key);
std::optional<QuotaKey> ParseQuotaName(absl::string_view name);

// Which keys a list shows; what is empty matches all.
struct KeyFilter {
  std::string zone = {};
  std::string instance_type = {};
  std::optional<ComputeClass> compute_class = {};
};
bool Matches(const KeyFilter& filter, absl::string_view quota_name);

// `{quota name}/holdings/{pool_uid}`.
struct HoldingName {
  std::string quota = {};
  std::string pool_uid = {};
};
std::string ToString(const HoldingName& name);
std::optional<HoldingName> ParseHoldingName(absl::string_view name);

}  // namespace muster::quota
