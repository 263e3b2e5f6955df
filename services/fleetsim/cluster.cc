#include "services/fleetsim/cluster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/backoff.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/fleetsim/intervals.h"
#include "services/kubernetes/api/kubeconfig.h"

namespace muster::fleetsim {
namespace {

using kubernetes::Client;
using kubernetes::Parameters;
using kubernetes::PatchType;

constexpr int kCollections = 2;
// How many rounds for one machine may follow one another without a pause. More mean that the server
// does not do what it says, or that somebody undoes it.
constexpr int kFreeRounds = 4;

}  // namespace

// Puts the objects that a reflector or an answer brings into a view.
template <class Object>
class Cluster::Inlet final : public kubernetes::Sink {
 public:
  using View = ClusterView<Object> Cluster::*;
  Inlet(Cluster& cluster, View view, Object (*read)(const Json&))
      : cluster_(cluster), view_(view), read_(read) {}

  void BeginList() override {
    MutexLock lock(cluster_.mutex_);
    (cluster_.*view_).BeginList();
  }
  void BeginAnew() override {
    MutexLock lock(cluster_.mutex_);
    (cluster_.*view_).BeginAnew();
  }
  void PutListed(const Json& json) override { Take(json, &ClusterView<Object>::PutListed); }
  void EndList(const std::string& version) override {
    MutexLock lock(cluster_.mutex_);
    (cluster_.*view_).EndList(version);
    if (!listed_) ++cluster_.listed_;
    listed_ = true;
    cluster_.changed_.SignalAll();
  }
  void Put(const Json& json) override { Take(json, &ClusterView<Object>::Put); }
  void Remove(const Json& json) override {
    const Object object = read_(json);
    MutexLock lock(cluster_.mutex_);
    (cluster_.*view_).Remove(object.key(), object.resource_version);
  }

 private:
  using Key = std::pair<std::string, std::string>;
  void Take(const Json& json, void (ClusterView<Object>::*put)(const Key& key, Object object)) {
    Object object = read_(json);
    const Key key = object.key();
    if (key.first.empty()) return;
    MutexLock lock(cluster_.mutex_);
    ((cluster_.*view_).*put)(key, std::move(object));
  }

  Cluster& cluster_;
  const View view_;
  Object (*const read_)(const Json&);
  bool listed_ = false;
};

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Create(ClusterOptions options,
                                                         const Clock& clock) {
  ASSIGN_OR_RETURN(kubernetes::Endpoint endpoint,
                   kubernetes::LoadKubeconfig(options.kubeconfig, options.context));
  ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                   Client::Create(std::move(endpoint), {.user_agent = kFieldManager,
                                                        .max_connections = 2 * options.calls}));
  return std::make_unique<Cluster>(std::move(client), std::move(options), clock);
}

Cluster::Cluster(std::unique_ptr<Client> client, ClusterOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      client_(std::move(client)),
      node_inlet_(std::make_unique<Inlet<NodeSeen>>(*this, &Cluster::nodes_, ReadNode)),
      pod_inlet_(std::make_unique<Inlet<PodSeen>>(*this, &Cluster::pods_, ReadPod)),
      leases_(*client_,
              {.interval = options_.lease_interval,
               .first_retry = options_.first_retry,
               .last_retry = options_.last_retry},
              clock),
      nodes_([this](const NodeSeen* before, const NodeSeen* after) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        Touch((after != nullptr ? after : before)->name);
      }),
      pods_([this](const PodSeen* before, const PodSeen* after) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        Touch((after != nullptr ? after : before)->node);
      }),
      node_reflector_(client_.get(),
                      {.path = "/api/v1/nodes",
                       .first_retry = options_.first_retry,
                       .last_retry = options_.last_retry},
                      node_inlet_.get()),
      pod_reflector_(client_.get(),
                     {.path = "/api/v1/pods",
                      .parameters = {{"fieldSelector", "spec.nodeName!="}},
                      .first_retry = options_.first_retry,
                      .last_retry = options_.last_retry},
                     pod_inlet_.get()) {}

Cluster::~Cluster() { Stop(); }

void Cluster::Start() {
  node_reflector_.Start();
  pod_reflector_.Start();
  leases_.Start(options_.calls);
  for (int i = 0; i < options_.calls; ++i) threads_.emplace_back([this] { Work(); });
}

void Cluster::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }
  client_->Stop();
  node_reflector_.Stop();
  pod_reflector_.Stop();
  leases_.Stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Cluster::Want(DesiredMachine desired) {
  MutexLock lock(mutex_);
  const std::string name = desired.machine;
  Machine& machine = machines_[name];
  if (desired.create_time < machine.desired.create_time) return;
  machine.desired = std::move(desired);
  Touch(name);
}

ClusterStats Cluster::stats() const {
  MutexLock lock(mutex_);
  return {.nodes = static_cast<int64_t>(nodes_.objects().size()),
          .pods = static_cast<int64_t>(pods_.objects().size()),
          .calls = calls_,
          .failed = failed_,
          .leases = leases_.stats()};
}

void Cluster::Touch(const std::string& machine) {
  const auto it = machines_.find(machine);
  if (it == machines_.end()) return;
  TendLease(it->first, it->second.desired);
  if (it->second.busy) {
    it->second.changed = true;
  } else {
    Enqueue(it->first, it->second, std::max(steady_.Now(), it->second.not_before));
  }
}

void Cluster::TendLease(const std::string& machine, const DesiredMachine& desired) {
  const std::vector<const NodeSeen*> node = nodes_.OnMachine(machine);
  if (!node.empty() && !IsSilent(desired)) {
    leases_.Renew(*node[0]);
  } else if (node.empty() && desired.power == DesiredMachine::Power::kOff) {
    leases_.End(machine);
  } else {
    leases_.Leave(machine);
  }
}

void Cluster::Enqueue(const std::string& name, Machine& machine, absl::Duration due) {
  if (machine.queued && machine.due <= due) return;
  if (machine.queued) queue_.erase({machine.due, name});
  machine.due = due;
  machine.queued = true;
  queue_.emplace(due, name);
  changed_.Signal();
}

void Cluster::Work() {
  while (true) {
    ClusterPlan plan;
    const std::string name = Take(plan);
    if (name.empty()) return;
    absl::Status status;
    for (const ClusterCall& call : plan.calls) {
      const absl::Status made = Make(name, call);
      status.Update(made);
      if (!made.ok() && !IsOfObject(made)) break;
    }
    Finish(name, plan, status);
  }
}

std::string Cluster::Take(ClusterPlan& plan) {
  MutexLock lock(mutex_);
  while (!stopped_) {
    // Until both collections are listed, what is missing may only not have been heard of yet.
    const bool known = listed_ == kCollections && !queue_.empty();
    const absl::Duration wait = known ? queue_.begin()->first - steady_.Now() : kLongestSleep;
    if (wait > absl::ZeroDuration()) {
      changed_.WaitFor(mutex_, std::min(wait, kLongestSleep));
      continue;
    }
    const std::string name = queue_.begin()->second;
    queue_.erase(queue_.begin());
    Machine& machine = machines_.find(name)->second;
    machine.queued = false;
    machine.busy = true;
    machine.changed = false;
    const std::vector<const NodeSeen*> node = nodes_.OnMachine(name);
    plan = PlanCluster({.desired = &machine.desired,
                        .node = node.empty() ? nullptr : node[0],
                        .pods = pods_.OnMachine(name),
                        .now = clock_.Now()},
                       options_.kubelet);
    return name;
  }
  return "";
}

absl::Status Cluster::Make(const std::string& machine, const ClusterCall& call) {
  {
    MutexLock lock(mutex_);
    ++calls_;
  }
  Parameters parameters = {{"fieldManager", kFieldManager}};
  absl::StatusOr<Json> answer = Json();
  switch (call.verb) {
    case ClusterCall::Verb::kCreate:
      answer = client_->Create(call.path, call.body, parameters);
      break;
    case ClusterCall::Verb::kApply:
      parameters.emplace_back("force", "true");
      answer = client_->Patch(PatchType::kApply, call.path, call.body, parameters);
      break;
    case ClusterCall::Verb::kMerge:
      answer = client_->Patch(PatchType::kMerge, call.path, call.body, parameters);
      break;
    case ClusterCall::Verb::kDelete: {
      const absl::Status status = client_->Delete(call.path, call.body);
      if (!status.ok() && !absl::IsNotFound(status)) return status;
      MutexLock lock(mutex_);
      pods_.Erase({machine, call.path});
      return absl::OkStatus();
    }
  }
  RETURN_IF_ERROR(answer.status());
  (answer->value("kind", "") == "Node" ? node_inlet_ : pod_inlet_)->Put(*answer);
  return absl::OkStatus();
}

absl::Duration Cluster::PauseOf(const Machine& machine) {
  return Jittered(PauseAfter(machine.rounds, options_.first_retry, options_.last_retry), random_);
}

void Cluster::Finish(const std::string& name, const ClusterPlan& plan, const absl::Status& status) {
  MutexLock lock(mutex_);
  Machine& machine = machines_.find(name)->second;
  machine.busy = false;
  const absl::Duration now = steady_.Now();
  machine.rounds = plan.calls.empty() ? 0 : machine.rounds + 1;
  machine.not_before = -absl::InfiniteDuration();
  if (!status.ok()) {
    ++failed_;
    machine.not_before = now + std::max(PauseOf(machine), kubernetes::ErrorOf(status).retry_after);
    if (!stopped_ && now - last_log_ >= kLogInterval) {
      log::Warn("a call to the API server failed", {{"machine", name}, {"error", status}});
      last_log_ = now;
    }
  } else if (machine.rounds > kFreeRounds) {
    machine.not_before = now + PauseOf(machine);
  }
  if (!plan.calls.empty() || machine.changed) {
    Enqueue(name, machine, std::max(now, machine.not_before));
  } else if (plan.look_again != absl::InfiniteFuture()) {
    Enqueue(name, machine, now + (plan.look_again - clock_.Now()));
  } else if (machine.desired.power == DesiredMachine::Power::kOff &&
             nodes_.OnMachine(name).empty() && pods_.OnMachine(name).empty()) {
    machines_.erase(name);
  }
}

}  // namespace muster::fleetsim
