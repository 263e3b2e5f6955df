#pragma once

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace muster {

// Calls `stop`, which ends an HTTP listener that notices that it is to stop only when a connection
// comes, or every few seconds; makes connections until it returns. `address`: where it listens
// (`host:port`, IPv6 in brackets); `port`: its port, which that may leave open.
void StopListener(absl::string_view address, int port, absl::FunctionRef<void()> stop);

}  // namespace muster
