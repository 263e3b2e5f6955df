#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/client/contexts.h"
#include "services/musterctl/commands/args.h"

namespace muster::musterctl {

// What is said where a context is used: its name (empty: none is), and the environment with what it says.
struct InContext {
  std::string name = {};
  Environment environment = {};
};

// The names in `a,b`.
std::vector<std::string> SplitContexts(absl::string_view names);

// Of each context that is named, with commas between them: by `--context` they count more than the environment does, by
// MUSTER_CONTEXT or as the file's current ones less. A token and a certificate are one choice: of the two that counts more is left.
// Of several each names its server, which nothing else does.
// INVALID_ARGUMENT: there is no such context, the file is bad, or two of them are one server.
absl::StatusOr<std::vector<InContext>> WithContexts(const CommandLine& line,
                                                    const Environment& environment);

}  // namespace muster::musterctl
