#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "services/configuration/core/types.h"

// Resource names and the words in them, parsed and printed here only. Parsers give nullopt for any
// other shape.
namespace muster::configuration {

// `stable`, `latest`.
absl::string_view Print(Channel channel);
std::optional<Channel> ParseChannel(absl::string_view text);
// `gpu-driver`, `ncore-image`, `kubernetes`, `kernel`.
absl::string_view Print(Component component);
std::optional<Component> ParseComponent(absl::string_view text);
// `Manual`, `OnSpecUpdate`, `Always`.
absl::string_view Print(Strategy strategy);
// `PROMOTE`, `ROLLBACK`.
absl::string_view Print(OrderKind kind);
// `WAITING`, `DONE`, `NO_PENDING`, `ROLLBACK_FAILED`, `CONFLICT`, `REPLACED`.
absl::string_view Print(OrderOutcome outcome);

// `channels/{channel}/components/{component}/releases/{version}`.
std::string ReleaseName(Channel channel, Component component, absl::string_view version);
// A version; images and kernels may be published under a name, too: these are never the newest, and
// meant only by that name.
bool IsReleaseVersion(Component component, absl::string_view text);
// A Release with the three parts of its name; the version is one.
std::optional<Release> ParseReleaseName(absl::string_view name);

// `np-` and 12 hex.
bool IsProfileId(absl::string_view text);
// `nodeProfiles/{id}`.
std::string NodeProfileName(absl::string_view id);
std::optional<std::string> ParseNodeProfileName(absl::string_view name);

// `poolConfigurations/{pool_uid}`.
std::string PoolConfigurationName(absl::string_view pool_uid);
std::optional<std::string> ParsePoolConfigurationName(absl::string_view name);

// What an order may ask for instead of a profile.
inline constexpr char kPendingWord[] = "pending";
inline constexpr char kPreviousWord[] = "previous";

}  // namespace muster::configuration
