#include "services/rpc/client/channel.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "services/rpc/channel_arguments.h"
#include "services/rpc/client/service_config.h"
#include "services/rpc/client/unretried_channel.h"
#include "services/rpc/grpc_life.h"
#include "services/trace/client_calls.h"

namespace muster::rpc {
namespace {

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

// What ServiceConfig() says but for methods.
constexpr char kNoMethods[] =
    R"({"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}})";

std::shared_ptr<grpc::Channel> ChannelWith(
    const char* service_config, const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    absl::Duration longest_reconnect) {
  KeepGrpcUp();
  grpc::ChannelArguments arguments = ClientArguments();
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(longest_reconnect));
  arguments.SetServiceConfigJSON(service_config);
  // A replica that says that it is not serving is passed over where the target says, by `dns:`,
  // that there may be others. Else it is taken for alone, and asked all the same: it says best what
  // is wrong with it, and serves operators. A proxy is such a one, too: what is told of health
  // through it is one replica's.
  if (!absl::StartsWith(target, "dns:")) arguments.SetInt(GRPC_ARG_INHIBIT_HEALTH_CHECKING, 1);
  const bool plain = credentials == nullptr || absl::StartsWith(target, "unix:");
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, plain ? grpc::InsecureChannelCredentials() : credentials, arguments,
      trace::ClientCalls());
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    absl::Duration longest_reconnect) {
  return ChannelWith(ServiceConfig(), target, credentials, longest_reconnect);
}

std::shared_ptr<grpc::Channel> MakeUnretriedChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    absl::Duration longest_reconnect) {
  return ChannelWith(kNoMethods, target, credentials, longest_reconnect);
}

void PrepareCall(grpc::ClientContext& context, absl::Time deadline) {
  context.set_deadline(absl::ToChronoTime(deadline));
}

void PrepareCall(grpc::ClientContext& context, absl::Duration timeout) {
  PrepareCall(context, absl::Now() + timeout);
}

}  // namespace muster::rpc
