#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "services/rpc/limits.h"

namespace muster::rpc {

// As MakeChannel, for a program that retries by itself, at its own pace: gRPC retries nothing in
// addition (except calls that surely never reached a server), and sets no timeout beside the
// caller's.
std::shared_ptr<grpc::Channel> MakeUnretriedChannel(
    const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr,
    absl::Duration longest_reconnect = kMaxReconnectBackoff);

}  // namespace muster::rpc
