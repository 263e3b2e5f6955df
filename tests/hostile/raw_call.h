#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace muster::testing {

// Sends these bytes as a request of that method, whatever they are, and waits for the first answer
// and the end.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& bytes, absl::Duration deadline = absl::Seconds(30));

}  // namespace muster::testing
