#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace muster::rpc {

enum class HealthAnswer { kNone, kNotServing, kServing };

// Asks grpc.health.v1 for a service; "": the server as a whole. kNone: no answer within `patience`,
// or the service is not known. Blocks; longer than that where the threads of gRPC hang.
HealthAnswer AskHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service,
                       absl::Duration patience);

}  // namespace muster::rpc
