#include "services/kubernetes/process.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/rpc/certificate_collector.h"

namespace muster::kubernetes {
namespace {

constexpr char kReady[] = "ready";
constexpr absl::Duration kReadinessPoll = absl::Milliseconds(500);

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
  ASSIGN_OR_RETURN(adapter_, Adapter::Create(std::move(adapter), metrics_.registry()));
  metrics_.Add(adapter_->collectable());
  rpc::ServerOptions server{.addresses = {options_.health_listen}, .metrics = &metrics_};
  server.drain_delay = absl::ZeroDuration();
  ASSIGN_OR_RETURN(server_, rpc::Server::Create(std::move(server)));
  RETURN_IF_ERROR(server_->Start());
  server_->SetServing("", true);
  ASSIGN_OR_RETURN(metrics_endpoint_,
                   rpc::MetricsEndpoint::Create(metrics_, options_.metrics_listen));
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
  const std::string draft = absl::StrCat(options_.port_file, ".new");
  {
    std::ofstream file(draft);
    file << "metrics " << metrics_endpoint_->port() << "\nhealth " << server_->port() << "\n";
    if (!file.flush()) return absl::UnavailableError(absl::StrCat("cannot write ", draft));
  }
  if (std::rename(draft.c_str(), options_.port_file.c_str()) != 0)
    return absl::UnavailableError(absl::StrCat("cannot write ", options_.port_file));
  return absl::OkStatus();
}

void Process::FollowReadiness() {
  do {
    server_->SetServing(kReady, adapter_->ready());
  } while (stopper_.Sleep(kReadinessPoll));
}

absl::Status Process::Run() { return adapter_->Run(); }

void Process::Stop() { adapter_->Stop(); }

Process::~Process() {
  stopper_.Stop();
  if (follower_.joinable()) follower_.join();
  if (server_ != nullptr) server_->Shutdown();
}

}  // namespace muster::kubernetes
