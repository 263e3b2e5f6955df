#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace muster::rpc {

// Of every channel of ours, that of a server to itself too: keepalive, reconnection, message sizes
// and round robin over all addresses of a name, as limits.h has them.
grpc::ChannelArguments ClientArguments();

}  // namespace muster::rpc
