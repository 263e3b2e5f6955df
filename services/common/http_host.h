#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Whether an HTTP request with this Host header is meant for us. A page of somebody else's whose name was made to resolve to our address
// (DNS rebinding) says its own name there: so we take addresses, `localhost`, and the names that an operator gave, in lower case. `host`
// may end with a port.
bool IsOurHost(absl::string_view host, const std::set<std::string>& names = {});

// Whether only this machine reaches what listens at `address` (`host:port`).
bool IsLoopback(absl::string_view address);

}  // namespace muster
