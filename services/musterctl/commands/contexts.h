#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/client/contexts.h"
#include "services/musterctl/commands/args.h"

namespace muster::musterctl {

// A context that a command line uses: its name (empty: no context), and the environment together
// with the context's values.
struct InContext {
  std::string name = {};
  Environment environment = {};
};

// The names in `a,b`.
std::vector<std::string> SplitContexts(absl::string_view names);

// Token and certificate exclude each other: whether the context key `key` is of the one and `said`
// has a key of the other.
bool IsReplaced(absl::string_view key, const std::set<std::string>& said);

// The variables of the environment that say something else than the contexts `names`, which are
// there, and count more than them where they are the current ones.
std::set<std::string> VariablesBefore(const client::Contexts& contexts, absl::string_view names,
                                      const Environment& environment);

// One element for each context named (several have commas between them); one without a name if none
// is. Contexts of `--context` take precedence over the environment; those of MUSTER_CONTEXT or the
// file's current ones do not. Token and certificate exclude each other: only the one of higher
// precedence is left. With several contexts each must name its server, and --server is refused.
// INVALID_ARGUMENT: there is no such context, the file is bad, or two contexts name one server.
absl::StatusOr<std::vector<InContext>> WithContexts(const CommandLine& line,
                                                    const Environment& environment);

}  // namespace muster::musterctl
