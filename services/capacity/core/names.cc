#include "services/capacity/core/names.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/capacity/core/limits.h"
#include "services/common/resource_name.h"

namespace muster::capacity {
namespace {

std::optional<std::string> ParseId(absl::string_view pattern, absl::string_view name,
                                   bool (*valid)(absl::string_view)) {
  std::optional<std::vector<std::string>> parts = MatchName(pattern, name);
  if (!parts || !valid((*parts)[0])) return std::nullopt;
  return std::move((*parts)[0]);
}

}  // namespace

std::string ZoneName(absl::string_view id) { return absl::StrCat("zones/", id); }
std::string InstanceTypeName(absl::string_view id) { return absl::StrCat("instanceTypes/", id); }
std::string MachineName(absl::string_view id) { return absl::StrCat("machines/", id); }
std::string ClaimName(absl::string_view pool_uid) { return absl::StrCat("claims/", pool_uid); }
std::string ArrivalsName(absl::string_view zone, absl::string_view instance_type,
                         absl::string_view compute_class) {
  return absl::StrCat("arrivals/", zone, "/", instance_type, "/", compute_class);
}

std::optional<std::string> ParseZoneName(absl::string_view name) {
  return ParseId("zones/*", name, &IsZoneId);
}
std::optional<std::string> ParseInstanceTypeName(absl::string_view name) {
  return ParseId("instanceTypes/*", name, &IsInstanceTypeId);
}
std::optional<std::string> ParseMachineName(absl::string_view name) {
  return ParseId("machines/*", name, &IsMachineId);
}
std::optional<std::string> ParseClaimName(absl::string_view name) {
  return ParseId("claims/*", name, &IsPoolUid);
}

bool IsMachineId(absl::string_view id) { return IsDnsLabel(id); }
bool IsPlaceName(absl::string_view name) { return IsInstanceTypeId(name); }

}  // namespace muster::capacity
