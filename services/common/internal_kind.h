#pragma once

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace muster {

// Whether rows of this kind are a service's own bookkeeping: in its tables and its journal, but no
// resource of the API, so no watch shows them. Their kinds begin with an underscore.
inline bool IsInternalKind(absl::string_view kind) { return absl::StartsWith(kind, "_"); }

}  // namespace muster
