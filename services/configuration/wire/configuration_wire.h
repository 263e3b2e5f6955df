#pragma once

#include <muster/configuration/v1/configuration_service.pb.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/faults.h"
#include "services/configuration/core/commands.h"
#include "services/configuration/core/types.h"

// Core ↔ proto, both ways, nothing else.
namespace muster::configuration {

// Rows as the API, the journal and the watchers have them. Nothing of a row is lost.
v1::Release ToProto(const Release& row);
v1::NodeProfile ToProto(const NodeProfile& row);
v1::PoolConfiguration ToProto(const PoolConfiguration& row);

// Back from the journal. INTERNAL: not what ToProto makes.
absl::StatusOr<Release> FromProto(const v1::Release& message);
absl::StatusOr<NodeProfile> FromProto(const v1::NodeProfile& message);
absl::StatusOr<PoolConfiguration> FromProto(const v1::PoolConfiguration& message);

// A caller's request as a command. What has no place in one (no spec, an unknown train or strategy)
// is added to `faults`, below `path`, the request's; the rest is for core/validate.h.
SyncPool FromProto(const v1::ConfigurationRequest& request, absl::string_view path,
                   error::Faults& faults);

// What a malformed name is answered with.
inline constexpr char kReleaseNameShape[] =
    "must be `channels/{stable|latest}/components/{gpu-driver|ncore-image|kubernetes|kernel}/"
    "releases/{version}`, a version being one to four numbers separated by dots, or of an "
    "ncore-image or kernel a name of letters, digits and \"._:+-\" that begins with a letter or "
    "digit.";
inline constexpr char kNodeProfileNameShape[] = "must be `nodeProfiles/np-{12 hex}`.";
inline constexpr char kPoolConfigurationNameShape[] = "must be `poolConfigurations/{pool_uid}`.";

}  // namespace muster::configuration
