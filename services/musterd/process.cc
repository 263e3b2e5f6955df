#include "services/musterd/process.h"

#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/capacity_service.h"
#include "services/capacity/core/place.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/configuration/configuration_service.h"
#include "services/configuration/core/place.h"
#include "services/lifecycle/core/place.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/musterd/access_handlers.h"
#include "services/musterd/database_metrics.h"
#include "services/musterd/debug_handlers.h"
#include "services/musterd/history_handlers.h"
#include "services/musterd/token_metrics.h"
#include "services/page/page.h"
#include "services/quota/core/place.h"
#include "services/quota/quota_service.h"
#include "services/rpc/certificate_collector.h"
#include "services/rpc/client/unretried_channel.h"
#include "services/rpc/lane_service.h"
#include "storage/postgres/migrator.h"

namespace muster::musterd {
namespace {

template <class Lane>
History HistoryOf(Lane& lane) {
  return {[&lane](const std::string& name, const storage::LogStart& start, int64_t limit,
                  absl::Time deadline) { return lane.ListChanges(name, start, limit, deadline); },
          [&lane](const std::string& name, const storage::Moment& then, storage::Lives lives,
                  absl::Time deadline) { return lane.GetPast(name, then, lives, deadline); },
          [&lane](const storage::PastScope& scope, const storage::Moment& then,
                  const std::string& after, size_t limit, absl::Time deadline) {
            return lane.ListPast(scope, then, after, limit, deadline);
          },
          [&lane](const std::string& kind, const std::string& bytes) {
            return lane.store().Parse(kind, bytes);
          }};
}

}  // namespace

Process::Process(ServeOptions options)
    : options_(std::move(options)),
      memory_(options_.memory_limit == 0 ? CgroupMemoryLimit() : options_.memory_limit) {}

Process::~Process() { Shutdown(); }

absl::StatusOr<std::unique_ptr<Process>> Process::Start(const ServeOptions& options) {
  RETURN_IF_ERROR(Validate(options));
  auto process = std::unique_ptr<Process>(new Process(options));
  RETURN_IF_ERROR(process->ReadCertificates());
  RETURN_IF_ERROR(process->ReadPolicy());
  RETURN_IF_ERROR(process->ReadConninfo());
  RETURN_IF_ERROR(process->CheckSchemas());
  RETURN_IF_ERROR(process->CreateServices());
  RETURN_IF_ERROR(process->StartServer());
  RETURN_IF_ERROR(process->StartOperatorServer());
  process->FollowPolicy();
  RETURN_IF_ERROR(process->StartReconciling());
  RETURN_IF_ERROR(process->StartPage());
  RETURN_IF_ERROR(process->StartHealthServer());
  process->FollowVitalSigns();
  RETURN_IF_ERROR(process->WritePortFile());
  log::Info("serving", {{"port", process->port()},
                        {"metrics_port", process->metrics_port()},
                        {"operator_port", process->operator_port()},
                        {"health_port", process->health_port()},
                        {"page_port", process->page_port()}});
  return process;
}

void Process::Shutdown() {
  if (stopping_.exchange(true)) return;
  if (policy_ != nullptr) policy_->Stop();
  if (vital_signs_ != nullptr) vital_signs_->Silence();
  // First of all, for load balancers: what follows may take seconds before calls are drained.
  if (server_ != nullptr) server_->SetAllServing(false);
  page_.reset();
  // The health server lives on, so that those who ask it send no more calls while the others drain.
  if (health_server_ != nullptr) {
    health_server_->SetServing("", false);
    for (const ServicePart& part : parts_) health_server_->SetServing(part.rpc.name, false);
  }
  if (lifecycle_ != nullptr) lifecycle_->StopReconciling();
  if (operator_server_ != nullptr) operator_server_->Shutdown();
  if (server_ != nullptr) server_->Shutdown();
  // What follows waits for a service that hangs.
  if (vital_signs_ != nullptr) vital_signs_->Stop();
  for (const ServicePart& part : parts_) part.stop();
  if (database_metrics_ != nullptr) database_metrics_->StopWatching();
  if (health_server_ != nullptr) health_server_->Shutdown();
  log::Info("stopped");
}

storage::LaneOptions Process::LaneOptionsFor(absl::string_view service) const {
  storage::LaneOptions lane;
  lane.connect.current_conninfo = [conninfo = conninfo_, role = storage::ServiceRole(service)] {
    return absl::StrCat(conninfo->Get(), " user=", role);
  };
  lane.connect.writable_host = writable_host_;
  lane.connect.schema = std::string(service);
  lane.journal_keep = options_.journal_keep;
  if (options_.journal_keep_time > absl::ZeroDuration())
    lane.journal_keep_time = options_.journal_keep_time;
  lane.journal_packing = storage::ParseJournalPacking(options_.journal_packing)
                             .value_or(storage::JournalPacking::kZstd);
  lane.connect.observer = database_metrics_->ObserverOf(lane.connect.schema);
  return lane;
}

template <class Options>
Options Process::WithLane(absl::string_view service, Options options) const {
  options.lane = LaneOptionsFor(service);
  if constexpr (requires { options.cpu; }) options.cpu = slow_work_;
  return options;
}

absl::Status Process::CheckSchemas() const {
  for (const std::string& service : options_.services) {
    RETURN_IF_ERROR(
        storage::Migrator::CheckVersion(LaneOptionsFor(service).connect.current_conninfo(),
                                        options_.migrations_dir, service, writable_host_));
  }
  return absl::OkStatus();
}

template <class Service>
void Process::AddPart(absl::string_view name, const char* full_name, Service& service) {
  auto& lane = service.lane();
  parts_.push_back({std::string(name), rpc::LaneService(full_name, service),
                    [&lane] { return lane.ReadyWithLocks(); }, [&lane] { return lane.stats(); },
                    [&lane] { return lane.Compare(); }, HistoryOf(lane),
                    [&lane] { lane.StopIntake(); }, [&lane] { lane.Stop(); }});
  if constexpr (requires { service.auditor(); }) {
    parts_.back().audits = [&service] { return service.auditor().stats(); };
  } else if constexpr (requires { service.audit_stats(); }) {
    parts_.back().audits = [&service] { return service.audit_stats(); };
  }
}

absl::Status Process::ReadCertificates() {
  ASSIGN_OR_RETURN(certificates_, tls::CertificateFiles::CreateIfAny(options_.tls));
  if (certificates_ != nullptr) metrics_.Add(rpc::MakeCertificateCollector(*certificates_));
  return absl::OkStatus();
}

absl::Status Process::ReadPolicy() {
  ASSIGN_OR_RETURN(policy_, access::PolicyFile::Create(
                                {.path = options_.policy_file,
                                 .fixed = access::Policy::Open(options_.allow_plaintext)}));
  rpc::Guard::TokenCheck check;
  if (options_.tokens) {
    ASSIGN_OR_RETURN(tokens_, tokens::TokenChecker::Create(*options_.tokens, &system_clock_));
    metrics_.Add(std::make_shared<TokenMetrics>(tokens_.get()));
    check = [this](absl::string_view header, bool proves) {
      return proves ? tokens_->PrincipalOf(header) : tokens_->KnownPrincipalOf(header);
    };
  }
  guard_ = std::make_unique<rpc::Guard>(policy_.get(), options_.caller_limits, std::move(check),
                                        &memory_);
  metrics_.Add(rpc::MakePolicyCollector(*guard_));
  return absl::OkStatus();
}

absl::Status Process::ReadConninfo() {
  ASSIGN_OR_RETURN(conninfo_,
                   Conninfo::Create({.path = options_.conninfo_file, .fixed = options_.conninfo}));
  database_metrics_ = std::make_shared<DatabaseMetrics>(conninfo_);
  return absl::OkStatus();
}

void Process::FollowPolicy() {
  const auto end_outdated = [this] {
    for (rpc::Server* server : {server_.get(), operator_server_.get()})
      server->EndOutdatedWatches();
  };
  policy_->OnChange(end_outdated);
  // It may have changed since the ports were opened.
  end_outdated();
}

absl::Status Process::ReloadCertificates() {
  return certificates_ == nullptr ? absl::OkStatus() : certificates_->Reload();
}

absl::Status Process::ReloadTokenKeys() {
  return tokens_ == nullptr ? absl::OkStatus() : tokens_->Reload();
}

template <class Service, class Options>
Process::Loading<Service> Process::Load(absl::string_view service, const Options& options) const {
  if (options_.services.count(std::string(service)) == 0) return {};
  return std::async(std::launch::async, [with_lane = WithLane(service, options)] {
    return Service::Create(with_lane);
  });
}

absl::Status Process::CreateServices() {
  // Side by side: each reads its tables, which is a thread's work and Postgres' by turns.
  auto quota = Load<quota::QuotaService>("quota", options_.quota);
  auto capacity = Load<capacity::CapacityService>("capacity", options_.capacity);
  auto configuration =
      Load<configuration::ConfigurationService>("configuration", options_.configuration);
  auto lifecycle = Load<lifecycle::LifecycleService>("lifecycle", options_.lifecycle);
  if (quota.valid()) {
    ASSIGN_OR_RETURN(quota_, quota.get());
    AddPart("quota", quota::v1::QuotaService::service_full_name(), *quota_);
    metrics_.Add(quota_->collectable());
  }
  if (capacity.valid()) {
    ASSIGN_OR_RETURN(capacity_, capacity.get());
    AddPart("capacity", capacity::v1::CapacityService::service_full_name(), *capacity_);
    metrics_.Add(capacity_->collectable());
  }
  if (configuration.valid()) {
    ASSIGN_OR_RETURN(configuration_, configuration.get());
    AddPart("configuration", configuration::v1::ConfigurationService::service_full_name(),
            *configuration_);
    metrics_.Add(configuration_->collectable());
    metrics_.Add(configuration_->census_collectable());
  }
  if (lifecycle.valid()) {
    ASSIGN_OR_RETURN(lifecycle_, lifecycle.get());
    AddPart("lifecycle", lifecycle::v1::LifecycleService::service_full_name(), *lifecycle_);
    metrics_.Add(lifecycle_->collectable());
    metrics_.Add(lifecycle_->census_collectable());
    metrics_.Add(lifecycle_->books_collectable());
    metrics_.Add(lifecycle_->reports_collectable());
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> Process::ChannelTo(absl::string_view service,
                                                  const std::string& address) {
  if (options_.services.count(std::string(service)) != 0) return server_->InProcessChannel();
  return rpc::MakeUnretriedChannel(address,
                                   certificates_ == nullptr ? nullptr : certificates_->ForClient());
}

absl::Status Process::StartReconciling() {
  if (lifecycle_ == nullptr) return absl::OkStatus();
  return lifecycle_->StartReconciling(
      {.quota = ChannelTo("quota", options_.quota_address),
       .capacity = ChannelTo("capacity", options_.capacity_address),
       .configuration = ChannelTo("configuration", options_.configuration_address)});
}

}  // namespace muster::musterd
