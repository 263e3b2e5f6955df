#pragma once

#include "absl/strings/string_view.h"

// Addresses as flags give them. gRPC takes a missing port for 443, and a port above 65535 for
// another one.
namespace muster {

// `host:port`; port 0 to 65535. The host is not looked at.
bool IsHostPort(absl::string_view text);

// What gRPC can listen at: `host:port` or `unix:path`.
bool IsListenAddress(absl::string_view text);

// What gRPC can call: `host:port`, `dns:///host:port`, `unix:path`, or `ipv4:`, `ipv6:` and `xds:`,
// which are not looked into. A host is a name or an address, IPv6 in brackets; port 1 to 65535.
bool IsTarget(absl::string_view text);

// A host's name or IPv4 address, without scheme and port.
bool IsPlainHost(absl::string_view text);

inline constexpr char kTargetForms[] =
    "must be host:port or dns:///host:port, with a port of 1 to 65535, or unix:path.";
inline constexpr char kListenForms[] =
    "must be host:port, with a port of 0 to 65535, or unix:path.";
inline constexpr char kHostPortForm[] = "must be host:port, with a port of 0 to 65535.";

}  // namespace muster
