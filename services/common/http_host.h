#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Whether an HTTP request with this Host header is meant for us: it names an address, `localhost`,
// or one of `names` (lower case), which an operator gave. A foreign web page whose name was made to
// resolve to our address (DNS rebinding) shows its own name there. `host` may end with a port.
bool IsOurHost(absl::string_view host, const std::set<std::string>& names = {});

// Whether only this machine can reach a listener at `address` (`host:port`).
bool IsLoopback(absl::string_view address);

}  // namespace muster
