#include "services/rpc/channel.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>

#include "absl/time/clock.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

grpc::ChannelArguments ClientArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetLoadBalancingPolicyName("round_robin");
  arguments.SetMaxReceiveMessageSize(kMaxClientReceiveBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kClientKeepaliveTime));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  // A watch may be silent for long: keep asking.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, Milliseconds(kMinReconnectBackoff));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Milliseconds(kMinReconnectBackoff));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(kMaxReconnectBackoff));
  return arguments;
}

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  return grpc::CreateCustomChannel(
      target, credentials != nullptr ? credentials : grpc::InsecureChannelCredentials(),
      ClientArguments());
}

void PrepareCall(grpc::ClientContext& context, absl::Time deadline, const CallInfo* caller) {
  context.set_deadline(absl::ToChronoTime(deadline));
  if (caller == nullptr) return;
  context.AddMetadata("x-request-id", caller->request_id);
  if (caller->trace) context.AddMetadata("traceparent", caller->trace->ToHeader());
}

void PrepareCall(grpc::ClientContext& context, absl::Duration timeout, const CallInfo* caller) {
  PrepareCall(context, absl::Now() + timeout, caller);
}

}  // namespace muster::rpc
