#include "services/kubernetes/metrics.h"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/rpc/metric_family.h"

namespace muster::kubernetes {
namespace {

constexpr char kNode[] = "node";
constexpr char kNodePool[] = "node_pool";

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Histogram;
using prometheus::MetricFamily;

// As client-go and controller-runtime have them.
const Histogram::BucketBoundaries& RequestBuckets() {
  static const auto& buckets =
      *new Histogram::BucketBoundaries{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
  return buckets;
}
const Histogram::BucketBoundaries& QueueBuckets() {
  static const auto& buckets =
      *new Histogram::BucketBoundaries{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000};
  return buckets;
}
// From a write that meets an idle server to one that waits behind thousands.
const Histogram::BucketBoundaries& LagBuckets() {
  static const auto& buckets = *new Histogram::BucketBoundaries{
      0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60, 300};
  return buckets;
}
const Histogram::BucketBoundaries& ReconcileBuckets() {
  static const auto& buckets = *new Histogram::BucketBoundaries{
      0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
  return buckets;
}

constexpr const char* kResults[] = {"success", "requeue_after", "error"};

prometheus::Gauge& UnknownOf(prometheus::Registry& registry, const char* kind) {
  return BuildGauge()
      .Name("muster_kubernetes_unknown")
      .Help(
          "Objects of the cluster that Muster's history does not know, and its pools without "
          "their object: kept until that history is accepted. By kind: node, node_pool.")
      .Register(registry)
      .Add({{"kind", kind}});
}

prometheus::Counter& WithheldOf(prometheus::Registry& registry, const char* kind) {
  return BuildCounter()
      .Name("muster_kubernetes_removals_withheld_total")
      .Help(
          "Looks at which something was kept because the history that does not know it is not "
          "accepted, more than a few would go, or Muster does not show the cluster. By kind: node, "
          "node_pool.")
      .Register(registry)
      .Add({{"kind", kind}});
}

prometheus::Gauge& HeldOf(prometheus::Registry& registry, const char* kind) {
  return BuildGauge()
      .Name("muster_kubernetes_removals_held")
      .Help(
          "Removals that are held because more than a few would follow from what one side does not "
          "know. By kind: node (of the cluster's), node_pool (of Muster's).")
      .Register(registry)
      .Add({{"kind", kind}});
}

}  // namespace

Metrics::Metrics(prometheus::Registry& registry, std::string host)
    : host_(std::move(host)),
      requests_(BuildCounter()
                    .Name("rest_client_requests_total")
                    .Help("Requests to the API server, by code, method and host.")
                    .Register(registry)),
      request_seconds_(BuildHistogram()
                           .Name("rest_client_request_duration_seconds")
                           .Help("How long requests to the API server took, by verb and host.")
                           .Register(registry)),
      queue_seconds_(BuildHistogram()
                         .Name("workqueue_queue_duration_seconds")
                         .Help("How long a key waited in the queue.")
                         .Register(registry)),
      work_seconds_(BuildHistogram()
                        .Name("workqueue_work_duration_seconds")
                        .Help("How long the work on a key took.")
                        .Register(registry)),
      reconciles_(BuildCounter()
                      .Name("controller_runtime_reconcile_total")
                      .Help("Reconciliations, by controller and result.")
                      .Register(registry)),
      reconcile_errors_(BuildCounter()
                            .Name("controller_runtime_reconcile_errors_total")
                            .Help("Reconciliations that failed, by controller.")
                            .Register(registry)),
      reconcile_seconds_(BuildHistogram()
                             .Name("controller_runtime_reconcile_time_seconds")
                             .Help("How long a reconciliation took, by controller.")
                             .Register(registry)),
      leader_(BuildGauge()
                  .Name("leader_election_master_status")
                  .Help("1 on the replica that holds the lease, 0 on others.")
                  .Register(registry)),
      mirror_lag_(BuildHistogram()
                      .Name("muster_kubernetes_mirror_lag_seconds")
                      .Help("From when a change of a NodePool came from Muster until the object's "
                            "status showed it.")
                      .Register(registry)
                      .Add({}, LagBuckets())),
      events_written_(BuildCounter()
                          .Name("muster_kubernetes_events_written_total")
                          .Help("Events created or counted up at the API server.")
                          .Register(registry)
                          .Add({})),
      events_dropped_(BuildCounter()
                          .Name("muster_kubernetes_events_dropped_total")
                          .Help("Events that had expired before they could be written.")
                          .Register(registry)
                          .Add({})),
      unknown_nodes_(UnknownOf(registry, kNode)),
      unknown_pools_(UnknownOf(registry, kNodePool)),
      withheld_nodes_(WithheldOf(registry, kNode)),
      withheld_pools_(WithheldOf(registry, kNodePool)),
      held_nodes_(HeldOf(registry, kNode)),
      held_pools_(HeldOf(registry, kNodePool)),
      refused_(BuildGauge()
                   .Name("muster_kubernetes_cluster_refused")
                   .Help("1 while the API server is of another Kubernetes than the cluster is in "
                         "Muster, so that nothing is done.")
                   .Register(registry)
                   .Add({})) {}

void Metrics::Add(const std::string& name, int workers, const WorkQueue* queue) {
  Queue entry{.name = name, .workers = workers, .queue = queue};
  entry.waited = &queue_seconds_.Add({{"name", name}}, QueueBuckets());
  entry.worked = &work_seconds_.Add({{"name", name}}, QueueBuckets());
  entry.took = &reconcile_seconds_.Add({{"controller", name}}, ReconcileBuckets());
  for (size_t i = 0; i < std::size(kResults); ++i)
    entry.results[i] = &reconciles_.Add({{"controller", name}, {"result", kResults[i]}});
  entry.errors = &reconcile_errors_.Add({{"controller", name}});
  queues_.push_back(std::move(entry));
}

void Metrics::Requested(const RequestEnd& end) {
  const std::string method(end.method);
  const std::string code = end.code == 0 ? "<error>" : absl::StrCat(end.code);
  requests_.Add({{"code", code}, {"method", method}, {"host", host_}}).Increment();
  request_seconds_.Add({{"verb", method}, {"host", host_}}, RequestBuckets())
      .Observe(absl::ToDoubleSeconds(end.duration));
}

void Metrics::Reconciled(const std::string& controller, Result result, absl::Duration waited,
                         absl::Duration took) {
  const auto found = std::find_if(queues_.begin(), queues_.end(),
                                  [&](const Queue& queue) { return queue.name == controller; });
  if (found == queues_.end()) return;
  found->waited->Observe(absl::ToDoubleSeconds(waited));
  found->worked->Observe(absl::ToDoubleSeconds(took));
  found->took->Observe(absl::ToDoubleSeconds(took));
  found->results[static_cast<size_t>(result)]->Increment();
  if (result == Result::kError) found->errors->Increment();
}

void Metrics::SetLeader(const std::string& lease, bool leader) {
  leader_.Add({{"name", lease}}).Set(leader ? 1 : 0);
}

void Metrics::Mirrored(absl::Duration lag) { mirror_lag_.Observe(absl::ToDoubleSeconds(lag)); }
void Metrics::EventWritten() { events_written_.Increment(); }
void Metrics::EventsDropped(int64_t events) {
  events_dropped_.Increment(static_cast<double>(events));
}

void Metrics::SetUnknown(size_t nodes, size_t node_pools) {
  unknown_nodes_.Set(static_cast<double>(nodes));
  unknown_pools_.Set(static_cast<double>(node_pools));
}
void Metrics::SetHeld(size_t nodes, size_t node_pools) {
  held_nodes_.Set(static_cast<double>(nodes));
  held_pools_.Set(static_cast<double>(node_pools));
}
void Metrics::Withheld(absl::string_view kind) {
  (kind == kNode ? withheld_nodes_ : withheld_pools_).Increment();
}

std::vector<MetricFamily> Metrics::Collect() const {
  MetricFamily depth = rpc::Gauges("workqueue_depth", "Keys that wait in the queue.");
  MetricFamily adds =
      rpc::Counters("workqueue_adds_total", "Keys added to the queue, each once while it waits.");
  MetricFamily retries =
      rpc::Counters("workqueue_retries_total", "Keys that are tried again after a failure.");
  MetricFamily unfinished =
      rpc::Gauges("workqueue_unfinished_work_seconds",
                  "How long keys that are worked on have been, all together.");
  MetricFamily longest = rpc::Gauges("workqueue_longest_running_processor_seconds",
                                     "How long the key that is worked on for longest has been.");
  MetricFamily active =
      rpc::Gauges("controller_runtime_active_workers", "Workers that are at work, by controller.");
  MetricFamily most =
      rpc::Gauges("controller_runtime_max_concurrent_reconciles", "Workers, by controller.");
  for (const Queue& queue : queues_) {
    const WorkQueue::Counts counts = queue.queue->counts();
    rpc::AddSample(depth, {{"name", queue.name}}, counts.waiting);
    rpc::AddSample(adds, {{"name", queue.name}}, counts.adds);
    rpc::AddSample(retries, {{"name", queue.name}}, counts.retries);
    rpc::AddSample(unfinished, {{"name", queue.name}}, absl::ToDoubleSeconds(counts.unfinished));
    rpc::AddSample(longest, {{"name", queue.name}}, absl::ToDoubleSeconds(counts.longest));
    rpc::AddSample(active, {{"controller", queue.name}}, counts.taken);
    rpc::AddSample(most, {{"controller", queue.name}}, queue.workers);
  }
  return {depth, adds, retries, unfinished, longest, active, most};
}

}  // namespace muster::kubernetes
