#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/daemon/daemon.h"

namespace muster::daemon {

// The options that the command line's flags give, checked. INVALID_ARGUMENT with every fault,
// naming the flag and what is allowed.
absl::StatusOr<Options> OptionsFromFlags();

// The program's version, as `--version` prints it: `musterd 0.1.0, commit 4690229c1a2b, Release
// build`, and a newline.
std::string VersionText();

// The end of a program's usage: what it reads beside its command line. `flag_file`: where packages
// keep its flags.
std::string FilesAndEnvironment(absl::string_view flag_file);

// Lets `--help` show these flags and those that are defined in files below `folder`, e.g.
// `services/musterd/`.
void ShowInHelp(const std::string& folder);

}  // namespace muster::daemon
