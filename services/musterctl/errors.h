#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace muster::musterctl {

// Keeps a google.rpc.Status, as the server sent it, beside code and message.
absl::Status FromRpcStatus(const google::rpc::Status& status);
// A status whose details could not be read.
absl::Status FromCode(int code, const std::string& message);

// For people, each line beginning with `error: `: one line a field violation, `error: <field>:
// <what>`; without any, the message. The last line ends with the code and, where it says more, the
// reason.
std::string RenderError(const absl::Status& status);

}  // namespace muster::musterctl
