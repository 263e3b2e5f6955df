#pragma once

#include "absl/status/statusor.h"
#include "services/client/contexts.h"
#include "services/musterctl/commands/args.h"

namespace muster::musterctl {

// `environment`, and what the context says: of `--context` instead of what the environment says, of MUSTER_CONTEXT or the
// file's current one where that says nothing. INVALID_ARGUMENT: there is no such context, or the file is bad.
absl::StatusOr<Environment> WithContext(const CommandLine& line, const Environment& environment);

}  // namespace muster::musterctl
