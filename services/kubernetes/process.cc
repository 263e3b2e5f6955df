#include "services/kubernetes/process.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/common/replace_file.h"
#include "services/common/status_macros.h"
#include "services/rpc/certificate_collector.h"
#include "services/rpc/client/health.h"

namespace muster::kubernetes {
namespace {

constexpr char kReady[] = "ready";
constexpr char kLive[] = "live";  // as musterd's; "" is the same
constexpr absl::Duration kReadinessPoll = absl::Milliseconds(500);
// How often, in polls, the server is asked whether it answers, and how long it may take.
constexpr int kPollsBetweenCalls = 10;
constexpr absl::Duration kAnswerPatience = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<Process>> Process::Start(const Options& options) {
  auto process = std::unique_ptr<Process>(new Process(options));
  RETURN_IF_ERROR(process->Open());
  return process;
}

absl::Status Process::Open() {
  AdapterOptions adapter = options_.adapter;
  ASSIGN_OR_RETURN(certificates_, tls::CertificateFiles::CreateIfAny(options_.tls));
  if (certificates_ != nullptr) {
    metrics_.Add(rpc::MakeCertificateCollector(*certificates_));
    adapter.muster_credentials = certificates_->ForClient();
  }
  if (options_.token) {
    ASSIGN_OR_RETURN(adapter.muster_credentials, TokenCredentials(*options_.token));
  }
  ASSIGN_OR_RETURN(adapter_, Adapter::Create(std::move(adapter), metrics_.registry()));
  metrics_.Add(adapter_->collectable());
  rpc::ServerOptions server{
      .addresses = {options_.health_listen}, .metrics = &metrics_, .reflection = false};
  server.drain_delay = absl::ZeroDuration();
  ASSIGN_OR_RETURN(server_, rpc::Server::Create(std::move(server)));
  RETURN_IF_ERROR(server_->Start());
  ASSIGN_OR_RETURN(metrics_endpoint_,
                   rpc::MetricsEndpoint::Create(metrics_, options_.metrics_listen));
  life_ = std::make_unique<daemon::Life>(daemon::Life::Options{.on_change = [this](bool alive) {
    for (const char* name : {"", kLive}) server_->SetServing(name, alive);
  }});
  life_->Look();
  follower_ = std::thread([this] { FollowReadiness(); });
  log::Info("muster-kubernetes runs", {{"organization", options_.adapter.organization},
                                       {"cluster", options_.adapter.cluster},
                                       {"api_server", options_.adapter.endpoint.server},
                                       {"muster", options_.adapter.muster_server},
                                       {"metrics_port", metrics_endpoint_->port()},
                                       {"health_port", server_->port()}});
  return WritePortFile();
}

absl::Status Process::WritePortFile() const {
  if (options_.port_file.empty()) return absl::OkStatus();
  const std::string ports =
      absl::StrCat("metrics ", metrics_endpoint_->port(), "\nhealth ", server_->port(), "\n");
  if (!ReplaceFile(options_.port_file, ports))
    return absl::UnavailableError(absl::StrCat("cannot write ", options_.port_file));
  return absl::OkStatus();
}

void Process::FollowReadiness() {
  int polls = 0;
  bool answers = true;
  do {
    const bool ready = adapter_->ready();
    server_->SetServing(kReady, ready);
    if (polls++ % kPollsBetweenCalls == 0) answers = Answers();
    if (answers) life_->Beat(ready);
  } while (stopper_.Sleep(kReadinessPoll));
}

bool Process::Answers() const {
  return rpc::AskHealth(server_->InProcessChannel(), "", kAnswerPatience) !=
         rpc::HealthAnswer::kNone;
}

absl::Status Process::Run() { return adapter_->Run(); }

void Process::Stop() { adapter_->Stop(); }

Process::~Process() {
  stopper_.Stop();
  if (follower_.joinable()) follower_.join();
  if (life_ != nullptr) life_->Stop();
  if (server_ != nullptr) server_->Shutdown();
}

}  // namespace muster::kubernetes
