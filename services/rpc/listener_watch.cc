#include "services/rpc/listener_watch.h"

#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/deadline.h"

namespace muster::rpc {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(100);

// A channel that shares no connection with any other.
std::shared_ptr<grpc::Channel> NewConnection(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(
      address, credentials != nullptr ? credentials : grpc::InsecureChannelCredentials(),
      arguments);
}

}  // namespace

ListenerWatch::ListenerWatch(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

ListenerWatch::~ListenerWatch() {
  stopper_.Stop();
  thread_.join();
}

std::string ListenerWatch::Look(const std::string& address,
                                const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                absl::Duration patience, const std::function<bool()>& stopped) {
  const auto channel = NewConnection(address, credentials);
  const absl::Time give_up = NowForDeadlines() + patience;
  const auto step = absl::ToChronoMilliseconds(kStep);
  while (NowForDeadlines() < give_up && !stopped()) {
    if (channel->WaitForConnected(std::chrono::system_clock::now() + step)) return "";
  }
  return absl::StrCat("nothing was heard on a new connection to ", address, " for ",
                      absl::FormatDuration(patience));
}

void ListenerWatch::Run() {
  int failures = 0;
  while (stopper_.Sleep(options_.interval)) {
    const std::string wrong = Look(options_.address, options_.credentials, options_.patience,
                                   [this] { return stopper_.stopped(); });
    if (stopper_.stopped()) return;
    const bool well = wrong.empty() || (options_.excused && options_.excused());
    failures = well ? 0 : failures + 1;
    if (failures < options_.failures_to_tell) continue;
    return options_.on_dead(absl::StrCat(wrong, ", ", failures, " times in a row"));
  }
}

}  // namespace muster::rpc
