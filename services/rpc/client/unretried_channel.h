#pragma once

#include <memory>
#include <string>

#include "services/rpc/client/channel.h"

namespace muster::rpc {

// As MakeChannel, for a program that repeats by itself what failed, at its own pace: gRPC repeats nothing on top of that (but what
// surely never reached a server), and limits no call's time beside the caller.
std::shared_ptr<grpc::Channel> MakeUnretriedChannel(
    const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr,
    absl::Duration longest_reconnect = kMaxReconnectBackoff);

}  // namespace muster::rpc
