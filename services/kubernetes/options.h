#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "services/client/credentials.h"
#include "services/kubernetes/adapter.h"
#include "services/tls/certificate_files.h"

namespace muster::kubernetes {

// The command line, checked.
struct Options {
  AdapterOptions adapter = {};
  // Who calls Muster: a certificate, or a token; neither: calls are in plain text.
  std::optional<tls::Files> tls = {};
  std::optional<client::CredentialFiles> token = {};
  std::string metrics_listen = {};
  std::string health_listen = {};
  std::string port_file = {};
};

// The flags' values. INVALID_ARGUMENT with every fault, naming the flag and what is allowed, or
// what is wrong with the kubeconfig file.
absl::StatusOr<Options> OptionsFromFlags();

// The credentials of the token in `files`. INVALID_ARGUMENT: a file cannot be used (field: the
// flag).
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TokenCredentials(
    const client::CredentialFiles& files);

// Likewise, all that is wrong with the program's flags and with the files that they name; changes
// no file.
absl::Status CheckFlags();

}  // namespace muster::kubernetes
