#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "services/daemon/daemon.h"

namespace muster::daemon {

// The command line's, checked. INVALID_ARGUMENT with every fault, naming the flag and what is allowed.
absl::StatusOr<Options> OptionsFromFlags();

// `--help` shows these flags and those that are defined in files below `folder`, e.g. `services/musterd/`.
void ShowInHelp(const std::string& folder);

}  // namespace muster::daemon
