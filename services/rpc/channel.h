#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "services/rpc/call_info.h"

// The client's side, for services that call others.
namespace muster::rpc {

// Keepalive, reconnection, message sizes and round robin over all addresses of a name, as limits.h
// has them.
grpc::ChannelArguments ClientArguments();

// Connects when it is first used. `target`: `host:port`, `dns:///name:port`, `unix:path`.
std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr);  // null: plain text

// Before the call: sets its deadline, and passes on the caller's request id and trace if there is a
// caller.
void PrepareCall(grpc::ClientContext& context, absl::Time deadline,
                 const CallInfo* caller = nullptr);
void PrepareCall(grpc::ClientContext& context, absl::Duration timeout,
                 const CallInfo* caller = nullptr);

}  // namespace muster::rpc
