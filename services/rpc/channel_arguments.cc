#include "services/rpc/channel_arguments.h"

#include <grpc/grpc.h>

#include "absl/time/time.h"
#include "services/common/user_agent.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

int MillisecondsOf(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

grpc::ChannelArguments ClientArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix(UserAgent());
  arguments.SetLoadBalancingPolicyName("round_robin");
  arguments.SetMaxReceiveMessageSize(kMaxClientReceiveBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, MillisecondsOf(kClientKeepaliveTime));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, MillisecondsOf(kKeepaliveTimeout));
  // A watch may be silent for long: keep asking.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, MillisecondsOf(kMinReconnectBackoff));
  // Its name suggests a pause, but gRPC uses it as the least time that an attempt to connect gets.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, MillisecondsOf(kConnectTimeout));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, MillisecondsOf(kMaxReconnectBackoff));
  return arguments;
}

}  // namespace muster::rpc
