#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "services/rpc/limits.h"

namespace muster::rpc {

// As MakeChannel, for a program that repeats by itself what failed, at its own pace: gRPC repeats nothing on top of that (but what
// surely never reached a server), and limits no call's time beside the caller.
std::shared_ptr<grpc::Channel> MakeUnretriedChannel(
    const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr,
    absl::Duration longest_reconnect = kMaxReconnectBackoff);

}  // namespace muster::rpc
