#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace muster::testing {

// Of a client that takes hardly anything before somebody reads it: what is unread waits at the
// server. Without them gRPC lets a fast connection hold megabytes a call.
inline grpc::ChannelArguments SmallWindow() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1'024);
  return arguments;
}

}  // namespace muster::testing
