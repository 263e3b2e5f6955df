#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace muster::rpc {

// The arguments of all our channels, also of a server's channel to itself: keepalive, reconnection,
// message sizes (limits.h), and round robin over all addresses of a name.
grpc::ChannelArguments ClientArguments();

}  // namespace muster::rpc
