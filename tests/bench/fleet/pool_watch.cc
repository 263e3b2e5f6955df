#include "tests/bench/fleet/pool_watch.h"

#include <utility>

#include "absl/time/clock.h"

namespace muster::bench {
namespace {

using lifecycle::v1::LifecycleService;
using lifecycle::v1::NodePool;
using lifecycle::v1::WatchLifecycleRequest;
using lifecycle::v1::WatchLifecycleResponse;

constexpr absl::Duration kReconnect = absl::Milliseconds(200);

PoolView ViewOf(const NodePool& pool) {
  PoolView view;
  view.node_profile = pool.status().node_profile();
  view.update_strategy = pool.spec().node_configuration_update_strategy().type();
  view.removed_nodes = pool.account().removed_nodes();
  for (const auto& condition : pool.status().conditions()) {
    if (condition.type() == "AtTarget") {
      view.at_target = condition.reason() == "TargetMet" &&
                       condition.observed_generation() == pool.generation() &&
                       pool.status().current_nodes() == pool.spec().target_nodes() &&
                       pool.status().queued_nodes() == 0 && pool.status().in_progress() == 0;
    }
    if (condition.type() == "Capacity") view.capacity_known = condition.status() != "Unknown";
  }
  return view;
}

}  // namespace

PoolWatch::PoolWatch(const std::string& target)
    : stub_(LifecycleService::NewStub(
          grpc::CreateChannel(target, grpc::InsecureChannelCredentials()))),
      thread_([this] { Run(); }) {}

PoolWatch::~PoolWatch() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    if (open_ != nullptr) open_->TryCancel();
    changed_.SignalAll();
  }
  thread_.join();
}

void PoolWatch::Run() {
  while (true) {
    grpc::ClientContext context;
    {
      MutexLock lock(mutex_);
      if (stopped_) return;
      open_ = &context;
    }
    Follow(context);
    MutexLock lock(mutex_);
    open_ = nullptr;
    if (stopped_) return;
    changed_.WaitFor(mutex_, kReconnect);
  }
}

void PoolWatch::Follow(grpc::ClientContext& context) {
  {
    MutexLock lock(mutex_);
    pools_.clear();
    short_of_ = 0;
    removed_nodes_ = 0;
    snapshot_ = true;
  }
  WatchLifecycleRequest request;
  request.add_kinds(WatchLifecycleRequest::KIND_NODE_POOL);
  request.mutable_start()->set_bundle(true);
  context.set_wait_for_ready(true);
  const auto reader = stub_->WatchLifecycle(&context, request);
  WatchLifecycleResponse response;
  while (reader->Read(&response)) {
    MutexLock lock(mutex_);
    Take(response);
    for (const WatchLifecycleResponse& next : response.bundle()) Take(next);
    Check();
  }
  reader->Finish();
}

void PoolWatch::Take(const WatchLifecycleResponse& message) {
  if (message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END) snapshot_ = false;
  if (!message.has_node_pool()) return;
  const auto [it, added] = pools_.try_emplace(message.node_pool().name());
  if (!added) {
    short_of_ -= Short(it->first, it->second) ? 1 : 0;
    removed_nodes_ -= it->second.removed_nodes;
  }
  it->second = ViewOf(message.node_pool());
  short_of_ += Short(it->first, it->second) ? 1 : 0;
  removed_nodes_ += it->second.removed_nodes;
}

bool PoolWatch::Short(const std::string& name, const PoolView& view) const {
  return goal_.pool && !goal_.pool(name, view);
}

void PoolWatch::Check() {
  if (snapshot_ || reached_ != absl::InfiniteFuture() || !goal_.pool) return;
  if (short_of_ > 0 || static_cast<int64_t>(pools_.size()) < goal_.pools ||
      removed_nodes_ < goal_.removed_nodes)
    return;
  reached_ = absl::Now();
  changed_.SignalAll();
}

void PoolWatch::Await(Goal goal) {
  MutexLock lock(mutex_);
  goal_ = std::move(goal);
  reached_ = absl::InfiniteFuture();
  short_of_ = 0;
  for (const auto& [name, view] : pools_) short_of_ += Short(name, view) ? 1 : 0;
  Check();
}

bool PoolWatch::WaitFor(absl::Duration timeout, absl::Time& time) {
  const absl::Time end = absl::Now() + timeout;
  MutexLock lock(mutex_);
  while (reached_ == absl::InfiniteFuture()) {
    const absl::Duration left = end - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(mutex_, left);
  }
  time = reached_;
  return true;
}

PoolWatch::Progress PoolWatch::progress() const {
  MutexLock lock(mutex_);
  return {static_cast<int64_t>(pools_.size()), short_of_, removed_nodes_};
}

std::map<std::string, PoolView> PoolWatch::pools() const {
  MutexLock lock(mutex_);
  return pools_;
}

}  // namespace muster::bench
