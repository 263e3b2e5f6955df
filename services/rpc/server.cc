#include "services/rpc/server.h"

#include <google/protobuf/descriptor.h>
#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/server_builder.h>

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/rpc/channel_arguments.h"
#include "services/rpc/checked_service.h"
#include "services/rpc/dispatch.h"
#include "services/rpc/grpc_life.h"
#include "services/rpc/standard_methods.h"
#include "services/trace/client_calls.h"

namespace muster::rpc {
namespace {

// How long the answers to what was not begun have to go out.
constexpr absl::Duration kIntakeGrace = absl::Milliseconds(250);

using google::protobuf::DescriptorPool;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

const ServiceDescriptor* Find(const std::string& service) {
  return DescriptorPool::generated_pool()->FindServiceByName(service);
}

MethodMetrics::Type TypeOf(const MethodDescriptor& method) {
  if (method.client_streaming()) {
    return method.server_streaming() ? MethodMetrics::Type::kBidiStream
                                     : MethodMetrics::Type::kClientStream;
  }
  return method.server_streaming() ? MethodMetrics::Type::kServerStream
                                   : MethodMetrics::Type::kUnary;
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetLimits(grpc::ServerBuilder& builder, const ServerOptions& options) {
  builder.SetMaxReceiveMessageSize(options.max_receive_bytes);
  const std::pair<const char*, int> arguments[] = {
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection},
      {GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes},
      {GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kServerKeepaliveTime)},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout)},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, Milliseconds(kMinPingInterval)},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(kHandshakeTimeout)},
      {GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(kMaxConnectionAge)},
      {GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(kMaxConnectionAgeGrace)},
      // A second server on the same port is a mistake, not a way to share load.
      {GRPC_ARG_ALLOW_REUSEPORT, 0},
  };
  for (const auto& [name, value] : arguments) builder.AddChannelArgument(name, value);
}

// gRPC's plugins are for the whole process, and for every server built from then on.
void InitPlugins() {
  static std::once_flag once;
  std::call_once(once, [] { grpc::EnableDefaultHealthCheckService(true); });
}

// gRPC's reflection adds itself to all servers of a program that links it.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) {
      return dynamic_cast<grpc::reflection::ProtoServerReflectionPlugin*>(plugin.get()) != nullptr;
    });
  }
};

// Lets everybody in.
const Guard* OpenGuard() {
  static const auto* const open = new Guard(nullptr);
  return open;
}

}  // namespace

Server::Server(ServerOptions options)
    : options_(std::move(options)),
      core_(std::make_unique<internal::ServerCore>(options_.guard != nullptr ? options_.guard
                                                                             : OpenGuard())) {
  core_->default_deadline = options_.default_deadline;
}

Server::~Server() { Shutdown(); }

absl::StatusOr<std::unique_ptr<Server>> Server::Create(ServerOptions options) {
  if (options.metrics == nullptr) return error::InvalidField("metrics", "is required.");
  for (const NamedService& service : options.services) {
    if (service.service == nullptr || Find(service.name) == nullptr) {
      return error::InvalidField("services", absl::StrCat("`", service.name, "` is not known."));
    }
  }
  return std::unique_ptr<Server>(new Server(std::move(options)));
}

absl::Status Server::Start() {
  InitPlugins();
  grpc::ServerBuilder builder;
  if (!options_.reflection) builder.SetOption(std::make_unique<WithoutReflection>());
  SetLimits(builder, options_);
  const auto credentials =
      options_.credentials != nullptr ? options_.credentials : grpc::InsecureServerCredentials();
  ports_.assign(options_.addresses.size(), 0);
  for (size_t i = 0; i < options_.addresses.size(); ++i) {
    builder.AddListeningPort(options_.addresses[i], credentials, &ports_[i]);
  }
  for (const NamedService& named : options_.services) {
    checked_.push_back(std::make_unique<internal::CheckedService>(
        *Find(named.name), *named.service, options_.closed, &core_->guard, named.place_of,
        named.catch_up, named.answered));
    builder.RegisterService(checked_.back().get());
  }
  // gRPC starts no server that has nothing but health. This answers whatever else is asked
  // UNIMPLEMENTED.
  if (options_.services.empty()) builder.RegisterCallbackGenericService(&nothing_);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(MakeFactory());
  builder.experimental().SetInterceptorCreators(std::move(factories));
  KeepGrpcUp();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return error::Unavailable(
        absl::StrCat("Cannot listen on ", absl::StrJoin(options_.addresses, ", "), "."));
  }
  SetAllServing(false);
  return absl::OkStatus();
}

std::unique_ptr<internal::InterceptorFactory> Server::MakeFactory() {
  auto factory = std::make_unique<internal::InterceptorFactory>(core_.get());
  ServerMetrics& metrics = options_.metrics->server();
  for (const NamedService& named : options_.services) {
    const ServiceDescriptor& service = *Find(named.name);
    for (int i = 0; i < service.method_count(); ++i) {
      const MethodDescriptor& method = *service.method(i);
      factory->Add(
          metrics.Add(absl::StrCat("/", service.full_name(), "/", method.name()), TypeOf(method)));
    }
  }
  const auto add = [&](const StandardMethod& method) {
    factory->AddStandard(metrics.Add(method.name, method.type), method);
  };
  for (const StandardMethod& method : kHealthMethods) add(method);
  if (options_.reflection) {
    for (const StandardMethod& method : kReflectionMethods) add(method);
  }
  return factory;
}

std::shared_ptr<grpc::Channel> Server::InProcessChannel() {
  return server_->experimental().InProcessChannelWithInterceptors(ClientArguments(),
                                                                  trace::ClientCalls());
}

void Server::SetServing(const std::string& service, bool serving) {
  if (server_ == nullptr) return;  // it could not listen
  server_->GetHealthCheckService()->SetServingStatus(service, serving);
}

void Server::SetAllServing(bool serving) {
  for (const NamedService& service : options_.services) SetServing(service.name, serving);
  SetServing("", serving);
}

void Server::EndOutdatedWatches() {
  core_->streams.EndThoseOf(
      [this](const access::Caller& caller) { return core_->guard.IsOutdated(caller); },
      Guard::Outdated());
}

void Server::Shutdown() {
  MutexLock lock(shutdown_mutex_);
  if (shut_down_ || server_ == nullptr) return;
  shut_down_ = true;
  // From here on health changes are without effect: nobody calls it back.
  server_->GetHealthCheckService()->Shutdown();
  absl::SleepFor(options_.drain_delay);
  const absl::Status stopping = error::Unavailable("The server is stopping.");
  const absl::Time deadline = NowForDeadlines() + options_.shutdown_grace;
  core_->open.Close(stopping);
  core_->streams.EndAll(stopping);
  core_->open.WaitUntilEmpty(deadline);
  if (options_.stop_intake) {
    options_.stop_intake();
    core_->open.WaitUntilEmpty(NowForDeadlines() + kIntakeGrace);
  }
  core_->calls.ExpireAllFrom(
      NowForDeadlines(), absl::UnknownError("The server stopped before the outcome was known."));
  core_->open.WaitUntilEmpty(deadline + kShutdownGrace);
  // gRPC's own shutdown cuts off calls of in-process channels at once, so it comes when there are
  // none.
  server_->Shutdown(absl::ToChronoTime(absl::Now()));
}

}  // namespace muster::rpc
