#include "services/fleetsim/agent.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/deadline.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
#include "services/common/user_agent.h"
#include "services/fleetsim/intervals.h"
#include "services/rpc/client/batches.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/unretried_channel.h"

namespace muster::fleetsim {
namespace {

using capacity::v1::CapacityService;
using lifecycle::v1::LifecycleService;

constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr int kCataloguePage = 1000;
constexpr absl::Duration kCatalogueInterval = absl::Minutes(1);
constexpr absl::Duration kLongestReconnect = absl::Seconds(2);
// Calls are at least this far apart, so that what falls due together travels together.
constexpr absl::Duration kBatchInterval = absl::Milliseconds(5);

// Sending the same again would not help, whatever the server's state.
bool IsFinal(const absl::Status& status) { return absl::IsInvalidArgument(status); }

}  // namespace

struct Agent::Rpc {
  explicit Rpc(const AgentOptions& options) {
    const auto channel =
        rpc::MakeUnretriedChannel(options.server, options.credentials, kLongestReconnect);
    lifecycle = LifecycleService::NewStub(channel);
    capacity = CapacityService::NewStub(channel);
  }

  rpc::Calls calls;
  std::shared_ptr<LifecycleService::Stub> lifecycle;
  std::shared_ptr<CapacityService::Stub> capacity;
};

Agent::Agent(AgentOptions options, const Clock& clock, Cluster* cluster)
    : options_(std::move(options)),
      clock_(clock),
      cluster_(cluster),
      rpc_(std::make_unique<Rpc>(options_)),
      model_(options_.fleet),
      watch_(WatchOptions()) {}

Agent::~Agent() = default;

void Agent::Run() {
  watch_.Start();
  std::thread registrar([this] { RegisterLoop(); });
  std::thread reader([this] {
    if (cluster_ != nullptr) CatalogueLoop();
  });
  std::vector<std::thread> reporters;
  for (int i = 0; i < options_.report_calls; ++i) reporters.emplace_back([this] { ReportLoop(); });
  for (std::thread& reporter : reporters) reporter.join();
  reader.join();
  registrar.join();
  watch_.Stop();
}

void Agent::Stop() {
  stopper_.Stop();
  {
    MutexLock lock(mutex_);
    changed_.SignalAll();
  }
  rpc_->calls.Stop();
}

AgentStats Agent::stats() const {
  MutexLock lock(mutex_);
  AgentStats stats = stats_;
  stats.unknown = static_cast<int64_t>(model_.unknown());
  return stats;
}

int64_t Agent::FailNodes() {
  MutexLock lock(mutex_);
  const int64_t nodes = model_.Fail(options_.fail_share, clock_.Now());
  TellCluster();
  changed_.SignalAll();
  return nodes;
}

AgentStats Agent::TakeStats() {
  MutexLock lock(mutex_);
  AgentStats stats = std::exchange(stats_, AgentStats());
  stats.unknown = static_cast<int64_t>(model_.unknown());
  return stats;
}

size_t Agent::nodes() const {
  MutexLock lock(mutex_);
  return model_.size();
}

rpc::Watch::Options Agent::WatchOptions() {
  lifecycle::v1::WatchLifecycleRequest request;
  request.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_NODE);
  rpc::Watch::Options options;
  options.stream = rpc::StreamOf<lifecycle::v1::WatchLifecycleResponse>(
      request, [stub = rpc_->lifecycle](auto... call) { stub->async()->WatchLifecycle(call...); },
      [this](const auto& message) { TakeBundle(message); });
  options.first_retry = options_.first_retry;
  options.last_retry = options_.last_retry;
  options.begins = [this](bool snapshot) {
    MutexLock lock(mutex_);
    first_ = true;
    snapshot_ = snapshot;
  };
  options.ended = [](const absl::Status& status) {
    log::Warn("the watch ended", {{"status", status}});
  };
  return options;
}

void Agent::TakeBundle(const lifecycle::v1::WatchLifecycleResponse& message) {
  MutexLock lock(mutex_);
  const std::optional<absl::Time> due = model_.NextDue();
  stats_.messages += 1 + message.bundle_size();
  if (std::exchange(first_, false)) {
    ++stats_.streams;
    if (snapshot_) {
      ++stats_.snapshots;
      model_.BeginSnapshot();
    }
  }
  Take(message);
  for (const auto& next : message.bundle()) Take(next);
  TellCluster();
  const std::optional<absl::Time> now_due = model_.NextDue();
  if (now_due && (!due || *now_due < *due)) changed_.SignalAll();
}

void Agent::Take(const lifecycle::v1::WatchLifecycleResponse& message) {
  if (message.has_node()) model_.Observe(message.node(), clock_.Now());
  if (message.type() == type::v1::WATCH_EVENT_TYPE_DELETED) model_.Remove(message.key());
  if (message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END) {
    model_.EndSnapshot(clock_.Now(), message.incarnation());
    if (model_.unknown() > 0) {
      log::Warn("the server's history does not know Nodes that run; they stay on",
                {{"nodes", model_.unknown()}, {"incarnation", message.incarnation()}});
    }
  }
}

void Agent::TellCluster() {
  std::vector<DesiredMachine> machines = model_.TakeDesired();
  if (cluster_ == nullptr) return;
  const bool waited = catalogue_.is_waited_for();
  for (DesiredMachine& desired : catalogue_.Complete(std::move(machines)))
    cluster_->Want(std::move(desired));
  if (!waited && catalogue_.is_waited_for()) changed_.SignalAll();
}

absl::Status Agent::ReadCatalogue() {
  capacity::v1::ListInstanceTypesRequest request;
  request.set_page_size(kCataloguePage);
  do {
    ASSIGN_OR_RETURN(const capacity::v1::ListInstanceTypesResponse response,
                     rpc_->calls.Call(kCallTimeout, *rpc_->capacity,
                                      &CapacityService::Stub::ListInstanceTypes, request));
    request.set_page_token(response.next_page_token());
    MutexLock lock(mutex_);
    for (const auto& type : response.instance_types()) catalogue_.Learn(type);
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

void Agent::CatalogueLoop() {
  Backoff backoff = NewBackoff();
  absl::btree_set<std::string> told;
  while (!stopper_.stopped()) {
    const absl::Status status = ReadCatalogue();
    absl::btree_set<std::string> missing;
    {
      MutexLock lock(mutex_);
      TellCluster();
      missing = catalogue_.Missing();
      const Deadline next(kCatalogueInterval);
      while (status.ok() && !catalogue_.is_waited_for() && !stopper_.stopped() &&
             next.WaitFor(changed_, mutex_)) {
      }
    }
    if (stopper_.stopped()) return;
    if (!status.ok()) log::Warn("the instance types were not read", {{"status", status}});
    if (status.ok() && missing.empty()) {
      backoff.Reset();
      continue;
    }
    if (status.ok() && missing != std::exchange(told, missing)) {
      log::Warn("machines wait until their instance types are in the catalogue",
                {{"types", absl::StrJoin(missing, ",")}});
    }
    stopper_.Sleep(backoff.Next());
  }
}

void Agent::RegisterLoop() {
  size_t refused = 0;
  for (size_t begin = 0; begin < options_.machines.size();) {
    const size_t end = rpc::BatchEnd(options_.machines, begin, rpc::kRegisterChunk);
    refused += Register(begin, end);
    begin = end;
  }
  if (options_.machines.empty() || stopper_.stopped()) return;
  log::Info("machines are registered",
            {{"machines", options_.machines.size() - refused}, {"refused", refused}});
}

size_t Agent::Register(size_t begin, size_t end) {
  Backoff backoff = NewBackoff();
  while (!stopper_.stopped()) {
    capacity::v1::BatchRegisterMachinesRequest request;
    for (size_t i = begin; i < end; ++i) *request.add_machines() = options_.machines[i];
    const auto response = rpc_->calls.Call(kCallTimeout, *rpc_->capacity,
                                           &CapacityService::Stub::BatchRegisterMachines, request);
    const absl::Status& status = response.status();
    if (status.ok()) {
      MutexLock lock(mutex_);
      stats_.registered += static_cast<int64_t>(end - begin);
      return 0;
    }
    if (stopper_.stopped()) return 0;
    if (IsFinal(status) && end - begin > 1) {
      // One of them is to blame; the others are not to be lost with it.
      const size_t middle = begin + (end - begin) / 2;
      const size_t first = Register(begin, middle);
      return first + Register(middle, end);
    }
    if (IsFinal(status)) {
      log::Warn("a machine was refused",
                {{"machine", options_.machines[begin].name()}, {"status", status}});
      return 1;
    }
    log::Warn("machines were not registered", {{"status", status}});
    // Tried again even if the zone or type is unknown: it may yet be published.
    stopper_.Sleep(backoff.Next());
  }
  return 0;
}

void Agent::ReportLoop() {
  Backoff backoff = NewBackoff();
  absl::Duration next_call = -absl::InfiniteDuration();  // by the steady clock
  while (true) {
    std::vector<FleetModel::Due> batch;
    {
      MutexLock lock(mutex_);
      while (!stopper_.stopped()) {
        const absl::Duration wait =
            std::max(model_.NextDue().value_or(absl::InfiniteFuture()) - clock_.Now(),
                     next_call - TheSteadyClock()->Now());
        if (wait <= absl::ZeroDuration()) break;
        changed_.WaitFor(mutex_, std::min(wait, kLongestSleep));
      }
      if (stopper_.stopped()) return;
      const absl::Time now = clock_.Now();
      batch = model_.TakeDue(now, static_cast<size_t>(options_.report_batch));
      TellCluster();
      for (const FleetModel::Due& due : batch) stats_.lag.Add(now - due.time);
    }
    if (batch.empty()) continue;
    if (Report(batch)) {
      backoff.Reset();
    } else if (!stopper_.Sleep(backoff.Next())) {
      return;
    }
    next_call = TheSteadyClock()->Now() + kBatchInterval;
  }
}

bool Agent::Report(const std::vector<FleetModel::Due>& batch) {
  lifecycle::v1::ReportNodesRequest request;
  for (const FleetModel::Due& due : batch) {
    for (const auto& report : due.reports) *request.add_reports() = report;
  }
  const absl::Duration sent = TheSteadyClock()->Now();
  const auto response = rpc_->calls.Call(kCallTimeout, *rpc_->lifecycle,
                                         &LifecycleService::Stub::ReportNodes, request);
  absl::Status status = response.status();
  if (status.ok() && response->results_size() != request.reports_size()) {
    status = absl::InternalError(
        absl::StrCat(response->results_size(), " results for ", request.reports_size()));
  }
  {
    MutexLock lock(mutex_);
    ++stats_.calls;
    stats_.waited += TheSteadyClock()->Now() - sent;
  }
  if (IsFinal(status) && batch.size() > 1) {
    // One of them is to blame; the others are not to be lost with it.
    const auto middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
    const bool first = Report({batch.begin(), middle});
    const bool second = Report({middle, batch.end()});
    return first && second;
  }
  std::vector<int> codes;
  if (status.ok()) {
    for (const auto& result : response->results()) codes.push_back(result.code());
  }
  Finish(batch, status, codes);
  if (!status.ok() && !stopper_.stopped())
    log::Warn("reports did not arrive", {{"status", status}});
  return status.ok() || IsFinal(status);
}

void Agent::Finish(const std::vector<FleetModel::Due>& batch, const absl::Status& status,
                   const std::vector<int>& codes) {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  size_t at = 0;
  for (const FleetModel::Due& due : batch) {
    const int64_t reports = static_cast<int64_t>(due.reports.size());
    FleetModel::Outcome answer = FleetModel::Outcome::kAccepted;
    if (!status.ok()) {
      answer = IsFinal(status) ? FleetModel::Outcome::kRefused : FleetModel::Outcome::kLost;
      (IsFinal(status) ? stats_.refused : stats_.lost) += reports;
    } else {
      for (int64_t i = 0; i < reports; ++i) {
        const bool accepted = codes[at++] == static_cast<int>(absl::StatusCode::kOk);
        ++(accepted ? stats_.accepted : stats_.refused);
        if (!accepted) answer = FleetModel::Outcome::kRefused;
      }
    }
    model_.Answered(due, answer, now);
  }
}

}  // namespace muster::fleetsim
