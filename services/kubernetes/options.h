#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "services/kubernetes/adapter.h"
#include "services/tls/certificate_files.h"

namespace muster::kubernetes {

// The command line, checked.
struct Options {
  AdapterOptions adapter = {};
  std::optional<tls::Files> tls = {};  // towards Muster; nullopt: plain text
  std::string metrics_listen = {};
  std::string health_listen = {};
  std::string port_file = {};
};

// The flags' values. INVALID_ARGUMENT with every fault, naming the flag and what is allowed, or
// what is wrong with the kubeconfig file.
absl::StatusOr<Options> OptionsFromFlags();

// Likewise, all that is wrong with the program's flags and with the files that they name; changes
// no file.
absl::Status CheckFlags();

}  // namespace muster::kubernetes
