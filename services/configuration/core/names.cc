#include "services/configuration/core/names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/resource_name.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/version.h"

namespace muster::configuration {
namespace {

constexpr char kReleasePattern[] = "channels/*/components/*/releases/*";
constexpr char kProfilePattern[] = "nodeProfiles/*";
constexpr char kPoolPattern[] = "poolConfigurations/*";
constexpr char kProfilePrefix[] = "np-";

template <class Enum>
std::optional<Enum> Find(absl::string_view text, std::initializer_list<Enum> values) {
  for (const Enum value : values) {
    if (Print(value) == text) return value;
  }
  return std::nullopt;
}

bool IsLowerHex(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

}  // namespace

absl::string_view Print(Channel channel) {
  switch (channel) {
    case Channel::kStable:
      return "stable";
    case Channel::kLatest:
      return "latest";
  }
  return "";
}

std::optional<Channel> ParseChannel(absl::string_view text) {
  return Find(text, {Channel::kStable, Channel::kLatest});
}

absl::string_view Print(Component component) {
  switch (component) {
    case Component::kGpuDriver:
      return "gpu-driver";
    case Component::kNcoreImage:
      return "ncore-image";
    case Component::kKubernetes:
      return "kubernetes";
    case Component::kKernel:
      return "kernel";
  }
  return "";
}

std::optional<Component> ParseComponent(absl::string_view text) {
  return Find(text, {Component::kGpuDriver, Component::kNcoreImage, Component::kKubernetes,
                     Component::kKernel});
}

absl::string_view Print(Strategy strategy) {
  switch (strategy) {
    case Strategy::kManual:
      return "Manual";
    case Strategy::kOnSpecUpdate:
      return "OnSpecUpdate";
    case Strategy::kAlways:
      return "Always";
  }
  return "";
}

absl::string_view Print(OrderKind kind) {
  switch (kind) {
    case OrderKind::kPromote:
      return "PROMOTE";
    case OrderKind::kRollback:
      return "ROLLBACK";
  }
  return "";
}

absl::string_view Print(OrderOutcome outcome) {
  switch (outcome) {
    case OrderOutcome::kWaiting:
      return "WAITING";
    case OrderOutcome::kDone:
      return "DONE";
    case OrderOutcome::kNoPending:
      return "NO_PENDING";
    case OrderOutcome::kRollbackFailed:
      return "ROLLBACK_FAILED";
    case OrderOutcome::kConflict:
      return "CONFLICT";
    case OrderOutcome::kReplaced:
      return "REPLACED";
  }
  return "";
}

std::string ReleaseName(Channel channel, Component component, absl::string_view version) {
  return absl::StrCat("channels/", Print(channel), "/components/", Print(component), "/releases/",
                      version);
}

bool IsReleaseVersion(Component component, absl::string_view text) {
  const bool named = component == Component::kNcoreImage || component == Component::kKernel;
  return ParseVersion(text) || (named && IsReleaseLabel(text));
}

std::optional<Release> ParseReleaseName(absl::string_view name) {
  const auto parts = MatchName(kReleasePattern, name);
  if (!parts) return std::nullopt;
  const auto channel = ParseChannel((*parts)[0]);
  const auto component = ParseComponent((*parts)[1]);
  if (!channel || !component || !IsReleaseVersion(*component, (*parts)[2])) return std::nullopt;
  return Release{.channel = *channel, .component = *component, .version = (*parts)[2]};
}

bool IsProfileId(absl::string_view text) {
  return absl::ConsumePrefix(&text, kProfilePrefix) && text.size() == kProfileIdDigits &&
         IsLowerHex(text);
}

std::string NodeProfileName(absl::string_view id) { return absl::StrCat("nodeProfiles/", id); }

std::optional<std::string> ParseNodeProfileName(absl::string_view name) {
  auto parts = MatchName(kProfilePattern, name);
  if (!parts || !IsProfileId(parts->front())) return std::nullopt;
  return std::move(parts->front());
}

std::string PoolConfigurationName(absl::string_view pool_uid) {
  return absl::StrCat("poolConfigurations/", pool_uid);
}

std::optional<std::string> ParsePoolConfigurationName(absl::string_view name) {
  auto parts = MatchName(kPoolPattern, name);
  if (!parts || !IsPoolUid(parts->front())) return std::nullopt;
  return std::move(parts->front());
}

std::string Release::Key() const { return ReleaseName(channel, component, version); }
std::string NodeProfile::Key() const { return NodeProfileName(id); }
std::string PoolConfiguration::Key() const { return PoolConfigurationName(pool_uid); }

}  // namespace muster::configuration
