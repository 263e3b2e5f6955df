#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "services/rpc/limits.h"

namespace muster::rpc {

// A channel that connects when it is first used; its calls continue the caller's trace
// (services/trace). `target`: `host:port`, `dns:///name:port`, `unix:path`. Only of a `dns:` target
// are replicas passed over that say that they are not serving. `credentials` null: plain text,
// which unix sockets always have.
std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr,
    absl::Duration longest_reconnect = kMaxReconnectBackoff);

// Before the call: sets its deadline.
void PrepareCall(grpc::ClientContext& context, absl::Time deadline);
void PrepareCall(grpc::ClientContext& context, absl::Duration timeout);

}  // namespace muster::rpc
