#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// Resource names of the capacity domain, printed and taken apart here and nowhere else.
namespace muster::capacity {

std::string ZoneName(absl::string_view id);
std::string InstanceTypeName(absl::string_view id);
std::string MachineName(absl::string_view id);
std::string ClaimName(absl::string_view pool_uid);
// Of an ArrivalsRow, which no RPC shows. `compute_class`: as in the API, lower case.
std::string ArrivalsName(absl::string_view zone, absl::string_view instance_type,
                         absl::string_view compute_class);

// The id in the name; nullopt when the name or the id has another shape.
std::optional<std::string> ParseZoneName(absl::string_view name);
std::optional<std::string> ParseInstanceTypeName(absl::string_view name);
std::optional<std::string> ParseMachineName(absl::string_view name);
std::optional<std::string> ParseClaimName(absl::string_view name);

// A machine's id: a DNS label, since it becomes a Kubernetes Node name.
bool IsMachineId(absl::string_view id);
// A fabric's or a rack's name: 1 to 63 letters, digits, `-`, `_`, `.`.
bool IsPlaceName(absl::string_view name);

}  // namespace muster::capacity
