// What a process listens on: its servers, the page and health, and what watches over them.
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/replace_file.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/musterd/access_handlers.h"
#include "services/musterd/database_metrics.h"
#include "services/musterd/debug_handlers.h"
#include "services/musterd/history_handlers.h"
#include "services/musterd/lane_metrics.h"
#include "services/musterd/process.h"
#include "services/page/page.h"

namespace muster::musterd {
namespace {

// Methods whose cost grows with the state: for operators only.
constexpr const char* kOperatorsOnly[] = {"/muster.capacity.v1.CapacityService/AuditCapacity",
                                          "/muster.quota.v1.QuotaService/AuditQuotas"};

// The address at which a client on this machine reaches the listener at `listen`.
std::string OwnAddress(const std::string& listen, int port) {
  if (absl::StartsWith(listen, "unix:")) return listen;
  const std::string host = listen.substr(0, listen.rfind(':'));
  // A listener at `[::]` takes IPv4, too, and there may be no other loopback.
  if (host == "0.0.0.0" || host == "[::]") return absl::StrCat("127.0.0.1:", port);
  return absl::StrCat(host, ":", port);
}

}  // namespace

void Process::AddDatabaseMetrics() {
  for (const std::string& service : options_.services)
    database_metrics_->WatchJournal(service, LaneOptionsFor(service));
  metrics_.Add(database_metrics_);
  metrics_.Add(std::make_shared<LaneMetrics>(&parts_));
  metrics_.Add(std::make_shared<AuditMetrics>(&parts_));
}

std::vector<rpc::NamedService> Process::CreateSharedServices() {
  std::vector<rpc::NamedService> asked_about = {{debug::v1::DebugService::service_full_name()}};
  for (const ServicePart& part : parts_) asked_about.push_back(part.rpc);
  history_ = std::make_unique<HistoryHandlers>(&parts_, slow_work_);
  const rpc::NamedService history = History();
  asked_about.push_back(history);
  access_ = std::make_unique<AccessHandlers>(std::move(asked_about), slow_work_);
  return {{access::v1::AccessService::service_full_name(), access_.get()}, history};
}

absl::Status Process::StartServer() {
  AddDatabaseMetrics();
  const std::vector<rpc::NamedService> shared = CreateSharedServices();
  rpc::ServerOptions server;
  server.addresses = {options_.listen};
  server.guard = guard_.get();
  server.credentials = ServerCredentials(options_.listen, tokens_ != nullptr);
  server.metrics = &metrics_;
  server.max_receive_bytes = options_.max_request_bytes;
  server.drain_delay = options_.drain_delay;
  server.stop_intake = [this] {
    for (const ServicePart& part : parts_) part.stop_intake();
    // Who asks by an in-process channel has to be gone before its server is.
    if (lifecycle_ != nullptr) lifecycle_->StopAdvising();
  };
  for (const ServicePart& part : parts_) server.services.push_back(part.rpc);
  server.services.insert(server.services.end(), shared.begin(), shared.end());
  server.closed = {std::begin(kOperatorsOnly), std::end(kOperatorsOnly)};
  server.reflection = false;
  ASSIGN_OR_RETURN(server_, rpc::Server::Create(std::move(server)));
  RETURN_IF_ERROR(server_->Start());
  ASSIGN_OR_RETURN(metrics_endpoint_,
                   rpc::MetricsEndpoint::Create(metrics_, options_.metrics_listen));
  return absl::OkStatus();
}

rpc::NamedService Process::History() const {
  return {history::v1::HistoryService::service_full_name(), history_.get(),
          [this](absl::string_view name) { return history_->PlaceOf(name); },
          [this](std::function<void(const absl::Status&)> done, absl::Time deadline) {
            history_->CatchUp(std::move(done), deadline);
          }};
}

absl::Status Process::StartOperatorServer() {
  debug_ = std::make_unique<DebugHandlers>(&parts_, lifecycle_.get(), slow_work_);
  rpc::ServerOptions server;
  server.addresses = {options_.operator_listen};
  server.guard = guard_.get();
  // Certificates are required, as the guard does not stand before everything here: reflection, and
  // health without limits.
  server.credentials = ServerCredentials(options_.operator_listen, false);
  server.metrics = &metrics_;
  server.max_receive_bytes = options_.max_request_bytes;
  server.drain_delay = absl::ZeroDuration();
  for (const ServicePart& part : parts_) server.services.push_back(part.rpc);
  server.services.push_back({access::v1::AccessService::service_full_name(), access_.get()});
  server.services.push_back(History());
  server.services.push_back({debug::v1::DebugService::service_full_name(), debug_.get()});
  ASSIGN_OR_RETURN(operator_server_, rpc::Server::Create(std::move(server)));
  return operator_server_->Start();
}

absl::Status Process::StartHealthServer() {
  if (options_.health_listen.empty()) return absl::OkStatus();
  rpc::ServerOptions server{.addresses = {options_.health_listen},
                            .metrics = &metrics_,
                            .guard = guard_.get(),
                            .reflection = false};
  server.drain_delay = absl::ZeroDuration();
  ASSIGN_OR_RETURN(health_server_, rpc::Server::Create(std::move(server)));
  return health_server_->Start();
}

std::shared_ptr<grpc::ServerCredentials> Process::ServerCredentials(const std::string& address,
                                                                    bool names_optional) const {
  return Secured(address) ? certificates_->ForServer(names_optional) : nullptr;
}

bool Process::Secured(const std::string& address) const {
  // A socket is guarded by its file's permissions.
  return certificates_ != nullptr && !absl::StartsWith(address, "unix:");
}

absl::Status Process::StartPage() {
  if (options_.page_listen.empty()) return absl::OkStatus();
  // Those that neither run here nor have an address are not shown.
  const auto channel = [this](absl::string_view service, const std::string& address) {
    const bool known = options_.services.count(std::string(service)) != 0 || !address.empty();
    return known ? ChannelTo(service, address) : nullptr;
  };
  page::Page::Options page;
  page.address = options_.page_listen;
  page.hosts = options_.page_hosts;
  page.cells = options_.page_cells;
  page.channels = {.capacity = channel("capacity", options_.capacity_address),
                   .quota = channel("quota", options_.quota_address),
                   .lifecycle = channel("lifecycle", ""),
                   .configuration = channel("configuration", options_.configuration_address)};
  page.health = [this] { return HealthOfParts(); };
  page.preemption_notice = options_.lifecycle.loop.policy.preemption_notice;
  page.preemption_end = options_.lifecycle.loop.policy.preemption_end;
  ASSIGN_OR_RETURN(page_, page::Page::Create(page));
  return absl::OkStatus();
}

int Process::page_port() const { return page_ == nullptr ? 0 : page_->port(); }

std::vector<page::ServiceHealth> Process::HealthOfParts() const {
  std::vector<page::ServiceHealth> all;
  for (const ServicePart& part : parts_) {
    const storage::LaneStats stats = part.stats();
    all.push_back({.service = part.name,
                   .ready = part.ready(),
                   .revision = stats.revision,
                   .queued = stats.queued,
                   .watchers = stats.watchers,
                   .commands = stats.commands,
                   .failed_batches = stats.failed_batches,
                   .journal_age = database_metrics_->JournalAge(part.name)});
    if (part.name == "lifecycle") {
      all.back().epoch = lifecycle_->epoch();
      all.back().leaderless = lifecycle_->leaderless();
    }
  }
  return all;
}

absl::Status Process::WritePortFile() const {
  if (options_.port_file.empty()) return absl::OkStatus();
  std::string ports = absl::StrCat("grpc ", port(), "\nmetrics ", metrics_port(), "\noperator ",
                                   operator_port(), "\n");
  if (page_ != nullptr) absl::StrAppend(&ports, "page ", page_port(), "\n");
  if (health_server_ != nullptr) absl::StrAppend(&ports, "health ", health_port(), "\n");
  // Whoever waits for the file finds all of it.
  if (!ReplaceFile(options_.port_file, ports)) {
    return error::InvalidField("--port_file",
                               absl::StrCat(options_.port_file, " cannot be written."));
  }
  return absl::OkStatus();
}

rpc::ListenerWatch::Options Process::OwnListener(const std::string& listen, int port) const {
  rpc::ListenerWatch::Options listener;
  listener.address = OwnAddress(listen, port);
  if (!Secured(listen)) return listener;
  listener.credentials = certificates_->ForOwnServer();
  // While our certificate is not valid no connection can be made, but open ones go on: no reason to
  // end the process.
  listener.excused = [this] {
    const tls::Identity identity = certificates_->stats().identity;
    return identity.expires <= absl::Now() || identity.begins > absl::Now();
  };
  return listener;
}

void Process::FollowVitalSigns() {
  const std::vector<std::string> whole = {access::v1::AccessService::service_full_name(),
                                          history::v1::HistoryService::service_full_name()};
  VitalSigns::Options signs{.servers = {{server_.get(), whole}, {operator_server_.get(), whole}},
                            .parts = &parts_};
  signs.servers.back().whole.push_back(debug::v1::DebugService::service_full_name());
  if (health_server_ != nullptr) signs.servers.push_back({health_server_.get()});
  signs.listeners.push_back(OwnListener(options_.listen, port()));
  if (operator_server_ != nullptr)
    signs.listeners.push_back(OwnListener(options_.operator_listen, operator_port()));
  vital_signs_ = std::make_unique<VitalSigns>(std::move(signs));
}

}  // namespace muster::musterd
