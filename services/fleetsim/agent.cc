#include "services/fleetsim/agent.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"

namespace muster::fleetsim {
namespace {

using capacity::v1::CapacityService;
using lifecycle::v1::LifecycleService;

constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr int kRegisterChunk = 500;
constexpr int kCataloguePage = 1000;
constexpr absl::Duration kCatalogueInterval = absl::Minutes(1);
constexpr int kMaxMessageBytes = 64 << 20;
// Calls are at least this far apart, so that what falls due together travels together.
constexpr absl::Duration kBatchInterval = absl::Milliseconds(5);
// Longest sleep of the reporter; only a safety net.
constexpr absl::Duration kLongestSleep = absl::Minutes(1);

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// Sending the same again would not help, whatever the server's state.
bool IsFinal(const absl::Status& status) { return absl::IsInvalidArgument(status); }

}  // namespace

// The stubs, and the calls under way, so that Stop can end them.
class Agent::Rpc {
 public:
  explicit Rpc(const std::string& server) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    auto channel = grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
    lifecycle = LifecycleService::NewStub(channel);
    capacity = CapacityService::NewStub(channel);
  }

  // A context that CancelAll cancels, at once if it was called before.
  class Call {
   public:
    explicit Call(Rpc& rpc) : rpc_(rpc) {
      MutexLock lock(rpc_.mutex_);
      rpc_.calls_.insert(&context);
      if (rpc_.cancelled_) context.TryCancel();
    }
    ~Call() {
      MutexLock lock(rpc_.mutex_);
      rpc_.calls_.erase(&context);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    grpc::ClientContext context;

   private:
    Rpc& rpc_;
  };

  void CancelAll() {
    MutexLock lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : calls_) context->TryCancel();
  }

  std::unique_ptr<LifecycleService::Stub> lifecycle;
  std::unique_ptr<CapacityService::Stub> capacity;

 private:
  Mutex mutex_;
  bool cancelled_ MUSTER_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> calls_ MUSTER_GUARDED_BY(mutex_);
};

Agent::Agent(AgentOptions options, const Clock& clock, Cluster* cluster)
    : options_(std::move(options)),
      clock_(clock),
      cluster_(cluster),
      rpc_(std::make_unique<Rpc>(options_.server)),
      model_(options_.fleet) {}

Agent::~Agent() = default;

void Agent::Run() {
  std::thread watcher([this] { WatchLoop(); });
  std::thread registrar([this] { RegisterLoop(); });
  std::thread reader([this] {
    if (cluster_ != nullptr) CatalogueLoop();
  });
  std::vector<std::thread> reporters;
  for (int i = 0; i < options_.report_calls; ++i) reporters.emplace_back([this] { ReportLoop(); });
  for (std::thread& reporter : reporters) reporter.join();
  reader.join();
  registrar.join();
  watcher.join();
}

void Agent::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.SignalAll();
  rpc_->CancelAll();
}

bool Agent::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
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

bool Agent::Pause(absl::Duration& pause) {
  MutexLock lock(mutex_);
  const absl::Time end = absl::Now() + pause * absl::Uniform(random_, 0.5, 1.0);
  for (absl::Time now = absl::Now(); !stopped_ && now < end; now = absl::Now())
    changed_.WaitFor(mutex_, end - now);
  pause = std::min(2 * pause, options_.last_retry);
  return !stopped_;
}

void Agent::WatchLoop() {
  absl::Duration pause = options_.first_retry;
  while (!stopped()) {
    type::v1::WatchStart start;
    int64_t received = 0;
    {
      MutexLock lock(mutex_);
      start = start_;
      received = stats_.messages;
    }
    const absl::Status status = WatchOnce(start);
    if (stopped()) return;
    log::Warn("the watch ended", {{"status", status}});
    {
      MutexLock lock(mutex_);
      if (absl::IsOutOfRange(status)) start_.Clear();
      if (stats_.messages != received) pause = options_.first_retry;
    }
    Pause(pause);
  }
}

absl::Status Agent::WatchOnce(const type::v1::WatchStart& start) {
  Rpc::Call call(*rpc_);
  lifecycle::v1::WatchLifecycleRequest request;
  request.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_NODE);
  *request.mutable_start() = start;
  request.mutable_start()->set_bundle(true);
  const auto reader = rpc_->lifecycle->WatchLifecycle(&call.context, request);
  bool first = true;
  lifecycle::v1::WatchLifecycleResponse response;
  while (reader->Read(&response)) {
    MutexLock lock(mutex_);
    const std::optional<absl::Time> due = model_.NextDue();
    stats_.messages += 1 + response.bundle_size();
    if (std::exchange(first, false)) {
      ++stats_.streams;
      if (!start.has_after_revision()) {
        ++stats_.snapshots;
        model_.BeginSnapshot();
      }
    }
    Take(response);
    for (const auto& next : response.bundle()) Take(next);
    TellCluster();
    const std::optional<absl::Time> now_due = model_.NextDue();
    if (now_due && (!due || *now_due < *due)) changed_.SignalAll();
  }
  const absl::Status status = ToStatus(reader->Finish());
  return status.ok() ? absl::UnavailableError("the server ended it") : status;
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
  // A snapshot cut short cannot be resumed: only its end has a revision to go on from.
  if (message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT) return;
  start_.set_after_revision(message.revision());
  if (!message.incarnation().empty()) start_.set_incarnation(message.incarnation());
}

void Agent::TellCluster() {
  std::vector<Wish> wishes = model_.TakeWishes();
  if (cluster_ == nullptr) return;
  const bool waited = catalogue_.is_waited_for();
  for (Wish& wish : catalogue_.Complete(std::move(wishes))) cluster_->Want(std::move(wish));
  if (!waited && catalogue_.is_waited_for()) changed_.SignalAll();
}

absl::Status Agent::ReadCatalogue() {
  capacity::v1::ListInstanceTypesRequest request;
  request.set_page_size(kCataloguePage);
  do {
    Rpc::Call call(*rpc_);
    call.context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
    capacity::v1::ListInstanceTypesResponse response;
    RETURN_IF_ERROR(ToStatus(rpc_->capacity->ListInstanceTypes(&call.context, request, &response)));
    request.set_page_token(response.next_page_token());
    MutexLock lock(mutex_);
    for (const auto& type : response.instance_types()) catalogue_.Learn(type);
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

void Agent::CatalogueLoop() {
  absl::Duration pause = options_.first_retry;
  absl::btree_set<std::string> told;
  while (!stopped()) {
    const absl::Status status = ReadCatalogue();
    absl::btree_set<std::string> missing;
    {
      MutexLock lock(mutex_);
      TellCluster();
      missing = catalogue_.Missing();
      const absl::Time next = absl::Now() + kCatalogueInterval;
      while (status.ok() && !catalogue_.is_waited_for() && !stopped_ && absl::Now() < next)
        changed_.WaitFor(mutex_, next - absl::Now());
    }
    if (stopped()) return;
    if (!status.ok()) log::Warn("the instance types were not read", {{"status", status}});
    if (status.ok() && missing.empty()) {
      pause = options_.first_retry;
      continue;
    }
    if (status.ok() && missing != std::exchange(told, missing)) {
      log::Warn("machines wait until their instance types are in the catalogue",
                {{"types", absl::StrJoin(missing, ",")}});
    }
    Pause(pause);
  }
}

void Agent::RegisterLoop() {
  absl::Duration pause = options_.first_retry;
  for (size_t begin = 0; begin < options_.machines.size() && !stopped();) {
    const size_t end = std::min(begin + kRegisterChunk, options_.machines.size());
    capacity::v1::BatchRegisterMachinesRequest request;
    for (size_t i = begin; i < end; ++i) *request.add_machines() = options_.machines[i];
    Rpc::Call call(*rpc_);
    call.context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
    capacity::v1::BatchRegisterMachinesResponse response;
    const absl::Status status =
        ToStatus(rpc_->capacity->BatchRegisterMachines(&call.context, request, &response));
    if (status.ok()) {
      MutexLock lock(mutex_);
      stats_.registered += static_cast<int64_t>(end - begin);
      pause = options_.first_retry;
      begin = end;
      continue;
    }
    if (stopped()) return;
    log::Warn("machines were not registered", {{"status", status}});
    if (IsFinal(status)) return;
    // An unknown zone or type may yet be published.
    Pause(pause);
  }
  if (!options_.machines.empty() && !stopped())
    log::Info("machines are registered", {{"machines", options_.machines.size()}});
}

void Agent::ReportLoop() {
  absl::Duration pause = options_.first_retry;
  absl::Time next_call = absl::InfinitePast();
  while (true) {
    std::vector<FleetModel::Due> batch;
    {
      MutexLock lock(mutex_);
      while (!stopped_) {
        const absl::Duration wait =
            std::max(model_.NextDue().value_or(absl::InfiniteFuture()) - clock_.Now(),
                     next_call - absl::Now());
        if (wait <= absl::ZeroDuration()) break;
        changed_.WaitFor(mutex_, std::min(wait, kLongestSleep));
      }
      if (stopped_) return;
      const absl::Time now = clock_.Now();
      batch = model_.TakeDue(now, static_cast<size_t>(options_.report_batch));
      TellCluster();
      for (const FleetModel::Due& due : batch) stats_.lag.Add(now - due.time);
    }
    if (batch.empty()) continue;
    if (Report(batch)) {
      pause = options_.first_retry;
    } else if (!Pause(pause)) {
      return;
    }
    next_call = absl::Now() + kBatchInterval;
  }
}

bool Agent::Report(const std::vector<FleetModel::Due>& batch) {
  Rpc::Call call(*rpc_);
  call.context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
  lifecycle::v1::ReportNodesRequest request;
  for (const FleetModel::Due& due : batch) {
    for (const auto& report : due.reports) *request.add_reports() = report;
  }
  lifecycle::v1::ReportNodesResponse response;
  const absl::Time sent = absl::Now();
  absl::Status status = ToStatus(rpc_->lifecycle->ReportNodes(&call.context, request, &response));
  if (status.ok() && response.results_size() != request.reports_size()) {
    status = absl::InternalError(
        absl::StrCat(response.results_size(), " results for ", request.reports_size()));
  }
  {
    MutexLock lock(mutex_);
    ++stats_.calls;
    stats_.waited += absl::Now() - sent;
  }
  std::vector<int> codes;
  for (const auto& result : response.results()) codes.push_back(result.code());
  Settle(batch, status, codes);
  if (!status.ok() && !stopped()) log::Warn("reports did not arrive", {{"status", status}});
  return status.ok() || IsFinal(status);
}

void Agent::Settle(const std::vector<FleetModel::Due>& batch, const absl::Status& status,
                   const std::vector<int>& codes) {
  MutexLock lock(mutex_);
  const absl::Time now = clock_.Now();
  size_t at = 0;
  for (const FleetModel::Due& due : batch) {
    const int64_t reports = static_cast<int64_t>(due.reports.size());
    FleetModel::Answer answer = FleetModel::Answer::kAccepted;
    if (!status.ok()) {
      answer = IsFinal(status) ? FleetModel::Answer::kRefused : FleetModel::Answer::kLost;
      (IsFinal(status) ? stats_.refused : stats_.lost) += reports;
    } else {
      for (int64_t i = 0; i < reports; ++i) {
        const bool accepted = codes[at++] == static_cast<int>(absl::StatusCode::kOk);
        ++(accepted ? stats_.accepted : stats_.refused);
        if (!accepted) answer = FleetModel::Answer::kRefused;
      }
    }
    model_.Answered(due, answer, now);
  }
}

}  // namespace muster::fleetsim
