#pragma once

#include <grpcpp/grpcpp.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster::bench {

// What of a pool is waited for.
struct PoolView {
  bool at_target = false;  // TargetMet for its newest spec, nothing queued or in progress
  bool capacity_known = true;
  std::string node_profile = {};
  std::string update_strategy = {};
  int64_t removed_nodes = 0;
};

// Follows all pools of a server by WatchLifecycle and notes when they reach a goal. A watch that
// breaks is begun again with a new snapshot. Thread-safe.
class PoolWatch {
 public:
  // `pool` holds for each pool, there are at least `pools` of them, and at least `removed_nodes`
  // Nodes have left them in all.
  struct Goal {
    std::function<bool(const std::string& name, const PoolView&)> pool = {};
    int64_t pools = 0;
    int64_t removed_nodes = 0;
  };
  struct Progress {
    int64_t pools = 0;
    int64_t short_of = 0;  // pools that are there and not as they are to be
    int64_t removed_nodes = 0;
  };

  explicit PoolWatch(const std::string& target);
  ~PoolWatch();
  PoolWatch(const PoolWatch&) = delete;
  PoolWatch& operator=(const PoolWatch&) = delete;

  void Await(Goal goal);
  // Waits at most so long. True: Await's goal was reached; `time`: when.
  bool WaitFor(absl::Duration timeout, absl::Time& time);
  Progress progress() const;
  std::map<std::string, PoolView> pools() const;

 private:
  void Run();
  void Follow(grpc::ClientContext& context);
  void Take(const lifecycle::v1::WatchLifecycleResponse& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Check() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Short(const std::string& name, const PoolView& view) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<lifecycle::v1::LifecycleService::Stub> stub_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* open_ MUSTER_GUARDED_BY(mutex_) = nullptr;
  bool snapshot_ MUSTER_GUARDED_BY(mutex_) = true;  // not complete yet
  std::map<std::string, PoolView> pools_ MUSTER_GUARDED_BY(mutex_);
  Goal goal_ MUSTER_GUARDED_BY(mutex_);
  int64_t short_of_ MUSTER_GUARDED_BY(mutex_) = 0;
  int64_t removed_nodes_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::Time reached_ MUSTER_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace muster::bench
