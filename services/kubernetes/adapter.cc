#include "services/kubernetes/adapter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/backoff.h"
#include "services/common/event_reasons.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
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
// The brake is asked by many at a time: what it decides, it decides for all of them.
constexpr absl::Duration kBrakeGather = absl::Milliseconds(20);
// How often both sides are asked which Kubernetes this is, while it works.
constexpr absl::Duration kIdentityLook = absl::Seconds(15);
constexpr absl::Duration kLongestAdmitPause = absl::Seconds(5);

// As client-go's metrics have it: without scheme and path.
std::string HostOf(absl::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != absl::string_view::npos) url.remove_prefix(scheme + 3);
  return std::string(url.substr(0, url.find('/')));
}

// Whether Muster would refuse the announcement of the cluster again the next time.
bool IsRefusedForGood(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Adapter>> Adapter::Create(AdapterOptions options,
                                                         prometheus::Registry& registry) {
  auto adapter = std::unique_ptr<Adapter>(new Adapter(std::move(options), registry));
  RETURN_IF_ERROR(adapter->Connect());
  adapter->MakeViews();
  adapter->MakeHistory();
  adapter->MakeBrake();
  adapter->MakeReconcilers();
  adapter->MakeControllers();
  adapter->MakeMusterWatch();
  adapter->MakeReflectors();
  return adapter;
}

Adapter::Adapter(AdapterOptions options, prometheus::Registry& registry)
    : options_(std::move(options)),
      metrics_(std::make_shared<Metrics>(registry, HostOf(options_.endpoint.server))) {}

Adapter::~Adapter() = default;

absl::Status Adapter::Connect() {
  ClientOptions client{.user_agent = options_.user_agent};
  client.on_request = [metrics = metrics_](const RequestEnd& end) { metrics->Requested(end); };
  // A request that hangs must not outlast the lease that it is to renew.
  client.timeout = options_.lease.renew_deadline / 2;
  client.may_write = [this] { return leader_->MayWrite() && !identity_->foreign(); };
  ASSIGN_OR_RETURN(lease_client_, Client::Create(options_.endpoint, client));
  client.timeout = ClientOptions().timeout;
  Leader::Options lease = options_.lease;
  lease.may_take = [this] { return identity_->Confirm(); };
  lease.given_up = [this] { return stopper_.stopped(); };
  leader_ = std::make_unique<Leader>(lease_client_.get(), std::move(lease));
  client.may_write = [this] { return leader_->Leads() && !identity_->foreign(); };
  client.max_connections = options_.pool_workers + options_.node_workers + 4;
  ASSIGN_OR_RETURN(api_, Client::Create(options_.endpoint, client));
  writer_ = std::make_unique<Writer>(api_.get());
  muster_ = std::make_unique<MusterClient>(
      MusterClient::Options{options_.muster_server, options_.organization, options_.cluster,
                            options_.muster_credentials});
  identity_ = std::make_unique<Identity>(Identity::Parts{.api = api_.get(),
                                                         .muster = muster_.get(),
                                                         .metrics = metrics_.get(),
                                                         .adopt = options_.adopt,
                                                         .foreign = [this] { End(); }});
  return absl::OkStatus();
}

void Adapter::MakeViews() {
  const auto add_pool = [this](const std::string& name) { pools_->Add(name); };
  const auto add_machine = [this](const std::string& machine) { nodes_->Add(machine); };
  cluster_ = std::make_unique<ClusterView>(
      ClusterView::Listeners{add_pool, add_machine,
                             [this](const std::string& name) { namespaces_->Add(name); }},
      [this](const std::string& machine) { return muster_view_->NodeOf(machine) != nullptr; });
  muster_view_ = std::make_unique<MusterView>(MusterView::Listeners{
      add_pool, add_machine, [this](const lifecycle::v1::Event& event) { events_->Put(event); },
      [this](const std::optional<std::string>& incarnation) {
        incarnation ? history_->Enter(*incarnation) : history_->Leave();
      }});
  events_ = std::make_unique<EventMirror>(
      api_.get(), metrics_.get(),
      EventMirror::Options{.instance = options_.lease.identity,
                           .edition = options_.edition,
                           .a_minute = options_.events_a_minute,
                           .node_of = [this](const std::string& machine) {
                             const auto node = cluster_->NodeOf(machine);
                             return EventNode{.name = cluster_->NodeNameOf(machine),
                                              .uid = node == nullptr ? "" : node->uid};
                           }});
  reporter_ = std::make_unique<Reporter>(muster_.get(),
                                         [this](const std::string& machine, absl::Duration pause) {
                                           nodes_->queue().AddAfter(machine, pause);
                                         });
}

void Adapter::MakeReconcilers() {
  pool_reconciler_ = std::make_unique<PoolReconciler>(PoolReconciler::Parts{
      api_.get(), writer_.get(), cluster_.get(), muster_.get(), muster_view_.get(), reporter_.get(),
      events_.get(), metrics_.get(), history_.get(), brake_.get(), identity_.get(), refusals_.get(),
      options_.edition, options_.ready_condition, options_.refusal_retry});
  node_reconciler_ = std::make_unique<NodeReconciler>(NodeReconciler::Parts{
      api_.get(), writer_.get(), cluster_.get(), muster_.get(), muster_view_.get(), reporter_.get(),
      history_.get(), brake_.get(), identity_.get(), refusals_.get(),
      [this](const std::string& pool) {
        if (options_.edition != Edition::kCurrent || options_.ready_condition) pools_->Add(pool);
      },
      [this](const std::string& pool) { pools_->Add(pool); },
      [this](const std::string& node, const std::string& message) {
        events_->TellOfNodeOnce(
            node, kNodeDeletionRefusedEvent,
            absl::StrCat("Muster is done with this Node, and the API server refuses to delete it: ",
                         message));
      },
      [this](const std::string& node, const std::string& message) {
        if (options_.edition == Edition::kFirst)
          events_->TellOfNode(node, kNodeActiveEvent, message);
      }});
}

void Adapter::MakeControllers() {
  const auto make = [this](const char* name, int workers, Controller::Reconcile reconcile) {
    // A replica that was frozen past its lease and woke up must not call Muster either.
    const auto if_leading = [this, reconcile = std::move(reconcile)](const std::string& key) {
      return leader_->Leads() ? reconcile(key) : Outcome(absl::AbortedError("not leading"));
    };
    return std::make_unique<Controller>(name, workers, if_leading, metrics_.get());
  };
  pools_ = make("nodepool", options_.pool_workers,
                [this](const std::string& name) { return pool_reconciler_->Reconcile(name); });
  nodes_ = make("node", options_.node_workers, [this](const std::string& machine) {
    return node_reconciler_->Reconcile(machine);
  });
  namespaces_ =
      make("namespace", 1, [this](const std::string& name) { return ReconcileNamespace(name); });
}

void Adapter::MakeReflectors() {
  const std::pair<const char*, Sink*> collections[] = {{kNodePoolsPath, &cluster_->node_pools()},
                                                       {kNodesPath, &cluster_->nodes()},
                                                       {kPodsPath, &cluster_->pods()},
                                                       {kNamespacesPath, &cluster_->namespaces()}};
  for (const auto& [path, sink] : collections) {
    ReflectorOptions options{.path = path};
    options.confirm = [this] { return identity_->Confirm(); };
    reflectors_.push_back(std::make_unique<Reflector>(api_.get(), std::move(options), sink));
  }
}

void Adapter::MakeMusterWatch() {
  rpc::Watch::Options options;
  options.begins = [this](bool snapshot) {
    if (snapshot) muster_view_->BeginSnapshot();
  };
  options.ended = [](const absl::Status& status) {
    log::Warn("the watch of Muster ended", {{"error", status}});
  };
  watch_ = muster_->Watch(std::move(options),
                          [this](const lifecycle::v1::WatchLifecycleResponse& message) {
                            muster_view_->Take(message, absl::Now());
                          });
}

bool Adapter::ready() const {
  MutexLock lock(mutex_);
  return ready_ && !identity_->cluster_missing() && !stopper_.stopped();
}

void Adapter::Stop() {
  stopper_.Stop();
  // Ends a wait for the lease, or for the Kubernetes that is meant. While it leads, the lease is
  // given back at the end.
  if (!leader_->Leads()) leader_->Stop();
  // Ends the calls that Run waits for.
  api_->Stop();
  muster_->Stop();
}

void Adapter::End() {
  {
    MutexLock lock(mutex_);
    lost_ = true;
  }
  stopper_.Stop();
  muster_->Stop();
}

bool Adapter::AwaitAdmission() {
  Backoff backoff(kHistoryLook, kLongestAdmitPause);
  while (true) {
    const absl::Status status = identity_->Admit();
    {
      MutexLock lock(mutex_);
      ready_ = status.ok();
    }
    if (status.ok()) return true;
    if (!absl::IsFailedPrecondition(status))
      log::Warn("Kubernetes and Muster could not both be asked which Kubernetes the cluster is",
                {{"muster", options_.muster_server}, {"error", status}});
    if (!stopper_.Sleep(backoff.Next())) return false;
  }
}

absl::Status Adapter::TryToJoin() {
  RETURN_IF_ERROR(identity_->Admit());
  RETURN_IF_ERROR(muster_->EnsureCluster(options_.zone, options_.kubernetes_version));
  return identity_->Bind();
}

absl::Status Adapter::JoinCluster() {
  while (true) {
    const absl::Status status = TryToJoin();
    if (status.ok()) return status;
    log::Warn("the cluster could not be announced to Muster", {{"error", status}});
    if (IsRefusedForGood(status)) return status;
    if (!stopper_.Sleep(kJoinRetry)) return absl::CancelledError("stopped");
  }
}

bool Adapter::AwaitSynced() {
  const auto synced = [this] {
    return muster_view_->synced() && std::all_of(reflectors_.begin(), reflectors_.end(),
                                                 [](const auto& it) { return it->synced(); });
  };
  while (!synced()) {
    if (!stopper_.Sleep(kSyncPoll)) return false;
  }
  return true;
}

void Adapter::Work() {
  reporter_->Start();
  watch_->Start();
  for (const auto& reflector : reflectors_) reflector->Start();
  if (!AwaitSynced()) return;
  log::Info("both sides were seen", {{"node_pools", cluster_->node_pools().size()},
                                     {"nodes", cluster_->nodes().size()},
                                     {"pods", cluster_->pods().size()},
                                     {"muster_pools", muster_view_->pools()},
                                     {"muster_nodes", muster_view_->nodes()}});
  history_->Look();
  pools_->Start();
  nodes_->Start();
  namespaces_->Start();
  events_->Start();
  {
    MutexLock lock(mutex_);
    ready_ = true;
  }
  absl::Duration identity_look = TheSteadyClock()->Now() + kIdentityLook;
  while (AwaitLook()) {
    history_->Look();
    brake_->Look(absl::Now(), TheSteadyClock()->Now());
    if (TheSteadyClock()->Now() < identity_look) continue;
    identity_look = TheSteadyClock()->Now() + kIdentityLook;
    CheckIdentity();
  }
}

bool Adapter::AwaitLook() {
  if (!stopper_.Wait(kHistoryLook)) return false;
  return !look_.exchange(false) || stopper_.Sleep(kBrakeGather);
}

void Adapter::CheckIdentity() {
  // What cannot be asked now is asked again.
  const absl::Status admitted = identity_->Admit();
  if (absl::IsFailedPrecondition(admitted)) return End();
  if (!admitted.ok() || !identity_->made_anew()) return;
  const absl::Status joined = TryToJoin();
  if (joined.ok()) return;
  log::Warn("the cluster could not be announced to Muster", {{"error", joined}});
  if (!IsRefusedForGood(joined)) return;
  {
    MutexLock lock(mutex_);
    refused_ = joined;
  }
  stopper_.Stop();
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
  if (!AwaitAdmission() || !leader_->Acquire()) return EndStatus();
  metrics_->SetLeader(options_.lease.lease, true);
  {
    // It leads, and cannot do its work yet.
    MutexLock lock(mutex_);
    ready_ = false;
  }
  leader_->Hold([this] { End(); });
  const absl::Status joined = JoinCluster();
  if (joined.ok()) Work();
  ShutDown();
  const absl::Status outcome = EndStatus();
  return outcome.ok() && !absl::IsCancelled(joined) ? joined : outcome;
}

absl::Status Adapter::EndStatus() const {
  MutexLock lock(mutex_);
  if (lost_ && identity_->foreign())
    return absl::AbortedError("the API server is not of the Kubernetes that Muster has");
  if (lost_) return absl::AbortedError("the lease was lost");
  return refused_;
}

Outcome Adapter::ReconcileNamespace(const std::string& name) {
  const auto object = cluster_->namespaces().Find(name);
  if (object == nullptr) return {};
  const auto patch =
      NamespacePatch(*object, options_.organization, options_.control_plane_namespaces);
  if (!patch) return {};
  ASSIGN_OR_RETURN(const Json written,
                   writer_->Patch(PatchType::kApply, absl::StrCat(kNamespacesPath, "/", name),
                                  *patch, {{"fieldManager", kFieldManager}, {"force", "true"}}));
  cluster_->namespaces().Put(written);
  return {};
}

}  // namespace muster::kubernetes
