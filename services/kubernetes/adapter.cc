#include "services/kubernetes/adapter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/first_edition.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/namespace.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

// How often it is asked whether all was seen.
constexpr absl::Duration kSyncPoll = absl::Milliseconds(20);
constexpr absl::Duration kJoinRetry = absl::Seconds(2);
// How often it is asked whether Muster's history may be accepted, while it is not.
constexpr absl::Duration kHistoryLook = absl::Seconds(1);

// As client-go's metrics have it: without scheme and path.
std::string HostOf(absl::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != absl::string_view::npos) url.remove_prefix(scheme + 3);
  return std::string(url.substr(0, url.find('/')));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Adapter>> Adapter::Create(AdapterOptions options,
                                                         prometheus::Registry& registry) {
  auto adapter = std::unique_ptr<Adapter>(new Adapter(std::move(options), registry));
  RETURN_IF_ERROR(adapter->Connect());
  adapter->MakeControllers();
  return adapter;
}

Adapter::Adapter(AdapterOptions options, prometheus::Registry& registry)
    : options_(std::move(options)),
      metrics_(std::make_shared<Metrics>(registry, HostOf(options_.endpoint.server))) {}

Adapter::~Adapter() = default;

absl::Status Adapter::Connect() {
  ClientOptions client{.user_agent = options_.user_agent};
  client.on_request = [metrics = metrics_](const RequestEnd& end) { metrics->Requested(end); };
  // A request that hangs must not outlast what it is to prolong.
  client.timeout = options_.lease.renew_deadline / 2;
  ASSIGN_OR_RETURN(lease_client_, Client::Create(options_.endpoint, client));
  client.timeout = ClientOptions().timeout;
  leader_ = std::make_unique<Leader>(lease_client_.get(), options_.lease);
  client.may_write = [leader = leader_.get()] { return leader->Leads(); };
  client.max_connections = options_.pool_workers + options_.node_workers + 4;
  ASSIGN_OR_RETURN(api_, Client::Create(options_.endpoint, client));
  muster_ = std::make_unique<MusterClient>(
      MusterClient::Options{options_.muster_server, options_.organization, options_.cluster});
  return absl::OkStatus();
}

void Adapter::MakeControllers() {
  const auto add_pool = [this](const std::string& name) { pools_->Add(name); };
  const auto add_machine = [this](const std::string& machine) { nodes_->Add(machine); };
  cluster_ = std::make_unique<ClusterView>(ClusterView::Listeners{
      add_pool, add_machine, [this](const std::string& name) { namespaces_->Add(name); }});
  known_ = std::make_unique<MusterView>(MusterView::Listeners{
      add_pool, add_machine, [this](const lifecycle::v1::Event& event) { events_->Put(event); },
      [this](const std::optional<std::string>& incarnation) {
        incarnation ? history_->Enter(*incarnation) : history_->Leave();
      }});
  events_ = std::make_unique<EventMirror>(
      api_.get(), metrics_.get(),
      EventMirror::Options{.instance = options_.lease.identity,
                           .edition = options_.edition,
                           .a_minute = options_.events_a_minute,
                           .node_uid = [this](const std::string& machine) {
                             const auto node = cluster_->NodeOf(machine);
                             return node == nullptr ? std::string() : node->uid;
                           }});
  reporter_ = std::make_unique<Reporter>(muster_.get(),
                                         [this](const std::string& machine, absl::Duration pause) {
                                           nodes_->queue().AddAfter(machine, pause);
                                         });
  MakeHistory();
  pool_reconciler_ = std::make_unique<PoolReconciler>(PoolReconciler::Parts{
      api_.get(), cluster_.get(), muster_.get(), known_.get(), reporter_.get(), events_.get(),
      metrics_.get(), history_.get(), options_.edition});
  node_reconciler_ = std::make_unique<NodeReconciler>(NodeReconciler::Parts{
      api_.get(), cluster_.get(), muster_.get(), known_.get(), reporter_.get(), history_.get(),
      [this](const std::string& pool) {
        if (options_.edition != Edition::kCurrent) pools_->Add(pool);
      },
      [this](const std::string& node, const std::string& message) {
        if (options_.edition == Edition::kFirst)
          events_->TellOfNode(node, "Normal", kNodeActive, message);
      }});
  const auto make = [this](const char* name, int workers, Controller::Reconcile reconcile) {
    // Muster is asked for nothing either by one that was frozen past its lease and woke up.
    const auto if_leading = [this, reconcile = std::move(reconcile)](const std::string& key) {
      return leader_->Leads() ? reconcile(key) : Outcome(absl::AbortedError("not leading"));
    };
    return std::make_unique<Controller>(name, workers, if_leading, metrics_.get());
  };
  pools_ = make("nodepool", options_.pool_workers,
                [this](const std::string& name) { return (*pool_reconciler_)(name); });
  nodes_ = make("node", options_.node_workers,
                [this](const std::string& machine) { return (*node_reconciler_)(machine); });
  namespaces_ =
      make("namespace", 1, [this](const std::string& name) { return ReconcileNamespace(name); });
  watch_ = std::make_unique<MusterWatch>(muster_.get(), known_.get());
  const std::pair<const char*, Sink*> collections[] = {{kNodePoolsPath, &cluster_->node_pools()},
                                                       {kNodesPath, &cluster_->nodes()},
                                                       {kPodsPath, &cluster_->pods()},
                                                       {kNamespacesPath, &cluster_->namespaces()}};
  for (const auto& [path, sink] : collections) {
    reflectors_.push_back(
        std::make_unique<Reflector>(api_.get(), ReflectorOptions{.path = path}, sink));
  }
}

void Adapter::MakeHistory() {
  const std::string lease =
      absl::StrCat("/apis/coordination.k8s.io/v1/namespaces/", options_.lease.name_space,
                   "/leases/", options_.lease.lease);
  History::Parts parts{.metrics = metrics_.get()};
  parts.read = [this, lease]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const Json found, api_->Get(lease));
    const auto annotation = Json::json_pointer("/metadata/annotations") / kHistoryAnnotation;
    return found.contains(annotation) ? found.at(annotation).get<std::string>() : std::string();
  };
  parts.write = [this, lease](const std::string& incarnation) {
    const Json patch = {{"metadata", {{"annotations", {{kHistoryAnnotation, incarnation}}}}}};
    return api_->Patch(PatchType::kMerge, lease, patch, {{"fieldManager", kFieldManager}}).status();
  };
  parts.look = [this] { return FindUnknown(); };
  parts.show = [this](const std::string& node, const std::string& incarnation) {
    events_->TellOfNodeOnce(
        node, "Warning", "CWNodeUnknown",
        absl::StrCat("Muster's history ", incarnation,
                     " does not know this Node: its database was restored to an earlier time, or "
                     "lost its last changes. The Node is kept. If it is not to stay, delete it; to "
                     "remove all such Nodes set the annotation ",
                     kHistoryAnnotation, "=", incarnation, " on the Lease ",
                     options_.lease.name_space, "/", options_.lease.lease, "."));
  };
  parts.again = [this](const History::Unknown& unknown) {
    for (const std::string& node : unknown.nodes) nodes_->Add(MachineOf(node));
    for (const std::string& name : unknown.node_pools) pools_->Add(name);
  };
  history_ = std::make_unique<History>(std::move(parts));
}

std::string Adapter::MachineOf(const std::string& node) const {
  const auto object = cluster_->nodes().Find(node);
  if (object == nullptr) return node;
  const std::string machine = ProviderMachine(*object);
  return known_->NodeOf(machine) != nullptr ? machine : node;
}

History::Unknown Adapter::FindUnknown() const {
  History::Unknown unknown;
  for (const auto& object : cluster_->nodes().All()) {
    const auto node = known_->NodeOf(MachineOf(object->name));
    if (IsUnknown(node.get(), *object)) unknown.nodes.push_back(object->name);
  }
  for (const auto& pool : known_->AllPools()) {
    const std::string name = LastPart(pool->name());
    if (pool->object_generation() == 0 || pool->has_delete_time()) continue;
    const auto object = cluster_->node_pools().Find(name);
    if (object == nullptr || object->uid != pool->uid()) unknown.node_pools.push_back(name);
  }
  return unknown;
}

bool Adapter::ready() const {
  MutexLock lock(mutex_);
  return ready_ && !stopped_ && !lost_;
}

bool Adapter::Sleep(absl::Duration time) {
  MutexLock lock(mutex_);
  const absl::Time end = absl::Now() + time;
  for (absl::Time now = absl::Now(); !stopped_ && !lost_ && now < end; now = absl::Now())
    changed_.WaitFor(mutex_, end - now);
  return !stopped_ && !lost_;
}

void Adapter::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }
  // Ends a wait for the lease. While it leads, the lease is given back at the end.
  if (!leader_->Leads()) leader_->Stop();
}

absl::Status Adapter::JoinCluster() {
  while (true) {
    const absl::Status status = muster_->EnsureCluster(options_.zone, options_.kubernetes_version);
    if (status.ok()) return status;
    log::Warn("the cluster could not be announced to Muster", {{"error", status}});
    if (absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status)) return status;
    if (!Sleep(kJoinRetry)) return absl::CancelledError("stopped");
  }
}

bool Adapter::AwaitSynced() {
  const auto synced = [this] {
    return known_->synced() && std::all_of(reflectors_.begin(), reflectors_.end(),
                                           [](const auto& it) { return it->synced(); });
  };
  while (!synced()) {
    if (!Sleep(kSyncPoll)) return false;
  }
  return true;
}

void Adapter::Work() {
  {
    MutexLock lock(mutex_);
    ready_ = false;
  }
  reporter_->Start();
  watch_->Start();
  for (const auto& reflector : reflectors_) reflector->Start();
  if (!AwaitSynced()) return;
  log::Info("both sides were seen", {{"node_pools", cluster_->node_pools().size()},
                                     {"nodes", cluster_->nodes().size()},
                                     {"pods", cluster_->pods().size()},
                                     {"muster_pools", known_->pools()},
                                     {"muster_nodes", known_->nodes()}});
  history_->Look();
  pools_->Start();
  nodes_->Start();
  namespaces_->Start();
  events_->Start();
  {
    MutexLock lock(mutex_);
    ready_ = true;
  }
  while (Sleep(kHistoryLook)) history_->Look();
}

void Adapter::ShutDown() {
  api_->Stop();
  muster_->Stop();
  for (const auto& reflector : reflectors_) reflector->Stop();
  watch_->Stop();
  pools_->Stop();
  nodes_->Stop();
  namespaces_->Stop();
  events_->Stop();
  reporter_->Stop();
  metrics_->SetLeader(options_.lease.lease, false);
  // After the last write: another may go on now.
  leader_->Stop();
}

absl::Status Adapter::Run() {
  metrics_->SetLeader(options_.lease.lease, false);
  if (!leader_->Acquire()) return absl::OkStatus();
  metrics_->SetLeader(options_.lease.lease, true);
  leader_->Hold([this] {
    MutexLock lock(mutex_);
    lost_ = true;
    changed_.SignalAll();
  });
  const absl::Status joined = JoinCluster();
  if (joined.ok()) Work();
  ShutDown();
  MutexLock lock(mutex_);
  if (lost_) return absl::AbortedError("the lease was lost");
  return absl::IsCancelled(joined) ? absl::OkStatus() : joined;
}

Outcome Adapter::ReconcileNamespace(const std::string& name) {
  const auto object = cluster_->namespaces().Find(name);
  if (object == nullptr) return {};
  const auto patch =
      NamespacePatch(*object, options_.organization, options_.control_plane_namespaces);
  if (!patch) return {};
  ASSIGN_OR_RETURN(const Json written,
                   api_->Patch(PatchType::kApply, absl::StrCat(kNamespacesPath, "/", name), *patch,
                               {{"fieldManager", kFieldManager}, {"force", "true"}}));
  cluster_->namespaces().Put(written);
  return {};
}

}  // namespace muster::kubernetes
