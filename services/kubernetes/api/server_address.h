#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/kubernetes/api/endpoint.h"

namespace muster::kubernetes {

// An endpoint's server, taken apart.
struct ServerAddress {
  bool tls = true;
  std::string host = {};        // host:port, an IPv6 host in brackets
  std::string url = {};         // what every URL begins with: scheme, host, port, path
  std::string connect_to = {};  // libcurl's CURLOPT_CONNECT_TO; empty: to where the URL says
};

// INVALID_ARGUMENT naming `server` or `server_name`.
absl::StatusOr<ServerAddress> ParseServerAddress(const Endpoint& endpoint);

// Checks that certificates and key look like PEM and make a pair. INVALID_ARGUMENT names the field.
absl::Status ValidateCertificates(const Endpoint& endpoint);

// Checks that the names it acts as can stand in headers. INVALID_ARGUMENT names the field: `as`, or
// the groups by the name `groups` (a kubeconfig calls them `as-groups`).
absl::Status ValidateImpersonation(const Endpoint& endpoint,
                                   absl::string_view groups = "as_groups");

}  // namespace muster::kubernetes
