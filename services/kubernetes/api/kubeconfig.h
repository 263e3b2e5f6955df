#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/kubernetes/api/endpoint.h"

namespace muster::kubernetes {

// The endpoint of a kubeconfig file's context (empty: its current-context). Files that it names are
// relative to it. INVALID_ARGUMENT: what is wrong with it, unsupported fields included
// (`proxy-url`, `exec`, `auth-provider`, `username`, `password`, `as-uid`, `as-user-extra`);
// NOT_FOUND: no such file.
absl::StatusOr<Endpoint> LoadKubeconfig(absl::string_view file, absl::string_view context = "");

// The endpoint for a Pod: KUBERNETES_SERVICE_HOST and _PORT, and the service account's `token` and
// `ca.crt` in `folder`. FAILED_PRECONDITION outside of a Pod.
absl::StatusOr<Endpoint> InCluster(
    absl::string_view folder = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace muster::kubernetes
