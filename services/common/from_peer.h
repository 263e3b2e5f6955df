#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::error {

// An error that another service of Muster, or the way to it, answered a call of ours with: as our
// own callers may hear it. What a service said (it has a Detail) stays as it is. Of what gRPC itself
// said, which names addresses, there stays the code and that `who` ("Quota") does not answer: its
// words become the cause (cause.h). OK stays OK.
absl::Status FromPeer(const absl::Status& status, absl::string_view who);

// Logs the cause of what FromPeer made, if it has one. `service`: "quota".
void LogSilence(absl::string_view service, const absl::Status& status);

}  // namespace muster::error
