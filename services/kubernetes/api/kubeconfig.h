#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/kubernetes/api/endpoint.h"

namespace muster::kubernetes {

// Of a kubeconfig file; `context` empty: its current-context. Files that it names are relative to
// it. INVALID_ARGUMENT naming what is wrong with it (also for what is not supported: `exec` and
// `auth-provider` users, `as-uid`); NOT_FOUND without the file.
absl::StatusOr<Endpoint> LoadKubeconfig(absl::string_view file, absl::string_view context = "");

// Of a Pod: KUBERNETES_SERVICE_HOST and _PORT, and the service account's `token` and `ca.crt` in
// `folder`. FAILED_PRECONDITION outside of one.
absl::StatusOr<Endpoint> InCluster(
    absl::string_view folder = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace muster::kubernetes
