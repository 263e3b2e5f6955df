#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/work_queue.h"

namespace muster::kubernetes {

// How a key's reconciliation ended: `controller_runtime_reconcile_total`'s result.
enum class Result { kSuccess, kRequeueAfter, kError };

// The adapter's metrics, under the names that stock operator dashboards read. Thread-safe.
class Metrics final : public prometheus::Collectable {
 public:
  // `host`: of the API server.
  Metrics(prometheus::Registry& registry, std::string host);

  // Queues are known before anything is exposed, and outlive it.
  void Add(const std::string& name, int workers, const WorkQueue* queue);

  void Requested(const RequestEnd& end);
  void Reconciled(const std::string& controller, Result result, absl::Duration waited,
                  absl::Duration took);
  void SetLeader(const std::string& lease, bool leader);
  // From when a NodePool's change came from Muster until the object showed it.
  void Mirrored(absl::Duration lag);
  void EventWritten();
  // They had expired before they could be written.
  void EventsDropped(int64_t events);
  // What Muster's history does not know, and is kept: how many there are, and that one was kept
  // (`kind`: node, node_pool).
  void SetUnknown(size_t nodes, size_t node_pools);
  void Withheld(absl::string_view kind);
  // The API server is of another Kubernetes than the cluster is in Muster.
  void SetRefused(bool refused) { refused_.Set(refused ? 1 : 0); }
  // What the brake holds.
  void SetHeld(size_t nodes, size_t node_pools);

  // `workqueue_depth` and what else is read off the queues.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Queue {
    std::string name = {};
    int workers = 0;
    const WorkQueue* queue = nullptr;
    prometheus::Histogram* waited = nullptr;
    prometheus::Histogram* worked = nullptr;
    prometheus::Histogram* took = nullptr;
    prometheus::Counter* results[3] = {};
    prometheus::Counter* errors = nullptr;
  };

  const std::string host_;
  std::vector<Queue> queues_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& request_seconds_;
  prometheus::Family<prometheus::Histogram>& queue_seconds_;
  prometheus::Family<prometheus::Histogram>& work_seconds_;
  prometheus::Family<prometheus::Counter>& reconciles_;
  prometheus::Family<prometheus::Counter>& reconcile_errors_;
  prometheus::Family<prometheus::Histogram>& reconcile_seconds_;
  prometheus::Family<prometheus::Gauge>& leader_;
  prometheus::Histogram& mirror_lag_;
  prometheus::Counter& events_written_;
  prometheus::Counter& events_dropped_;
  prometheus::Gauge& unknown_nodes_;
  prometheus::Gauge& unknown_pools_;
  prometheus::Counter& withheld_nodes_;
  prometheus::Counter& withheld_pools_;
  prometheus::Gauge& held_nodes_;
  prometheus::Gauge& held_pools_;
  prometheus::Gauge& refused_;
};

}  // namespace muster::kubernetes
