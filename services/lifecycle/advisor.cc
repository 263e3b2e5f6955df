#include "services/lifecycle/advisor.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/preview.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"

namespace muster::lifecycle {
namespace {

constexpr int kThreads = 2;
constexpr size_t kMaxObstacles = 200;
// For an answer of another service, within the caller's deadline.
constexpr absl::Duration kAskTimeout = absl::Seconds(5);
// What is left to answer the caller.
constexpr absl::Duration kMargin = absl::Milliseconds(100);

absl::Duration TimeoutOf(absl::Time deadline) {
  return std::clamp(deadline - absl::Now() - kMargin, absl::ZeroDuration(), kAskTimeout);
}

}  // namespace

Advisor::Advisor(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue,
                 const Clock* clock, Policy policy)
    : asker_(peers), catalogue_(std::move(catalogue)), clock_(*clock), policy_(policy) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Work(); });
}

Advisor::~Advisor() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    jobs_.clear();  // their callers' Responders answer for themselves
    wakes_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Advisor::Enqueue(std::function<void()> job) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  jobs_.push_back(std::move(job));
  wakes_.SignalAll();
}

void Advisor::Work() {
  while (true) {
    std::function<void()> job;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && jobs_.empty()) wakes_.Wait(mutex_);
      if (stopping_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

void Advisor::Explain(Picture picture, absl::Time deadline,
                      std::function<void(std::vector<v1::NodePoolObstacle>)> done) {
  // std::function wants what it holds to be copyable.
  Enqueue([this, picture = std::make_shared<Picture>(std::move(picture)), deadline,
           done = std::move(done)] {
    Complete(*picture, *catalogue_);
    asker_.Check(absl::MakeSpan(picture.get(), 1), TimeoutOf(deadline));
    const Snapshot snapshot{
        picture->cluster.get(), picture->pool.get(), picture->nodes, picture->version,
        picture->catalogue,     picture->answers,    policy_,        clock_.Now()};
    std::vector<v1::NodePoolObstacle> obstacles;
    for (const Obstacle& obstacle : lifecycle::Explain(snapshot, Plan(snapshot))) {
      if (obstacles.size() == kMaxObstacles) break;
      obstacles.push_back(ToProto(obstacle));
    }
    done(std::move(obstacles));
  });
}

void Advisor::Preview(Trial trial, absl::Time deadline,
                      std::function<void(v1::NodePoolPreview)> done) {
  Enqueue([this, trial = std::make_shared<const Trial>(std::move(trial)), deadline,
           done = std::move(done)] { done(PreviewNow(*trial, TimeoutOf(deadline))); });
}

v1::NodePoolPreview Advisor::PreviewNow(const Trial& trial, absl::Duration timeout) const {
  std::vector<const Node*> nodes;
  for (const Node& node : trial.nodes) nodes.push_back(&node);
  const lifecycle::Preview local = PreviewOf(trial.before.get(), trial.after, nodes);
  v1::NodePoolPreview out;
  for (const std::string& machine : local.victims) out.add_victims(machine);
  out.set_victim_count(local.victim_count);
  out.set_waiting_victims(local.waiting_victims);
  const CatalogueFacts facts = catalogue_->Facts(trial.after.spec.instance_type, trial.after.zone);
  const Asker::Opinions opinions = asker_.AskWhatIf({.pool = &trial.after,
                                                     .cluster = trial.cluster.get(),
                                                     .charge = local.charge,
                                                     .more_nodes = local.more_nodes,
                                                     .gpu = facts.type && facts.type->gpus > 0},
                                                    timeout);
  *out.mutable_quota() = opinions.quota;
  out.mutable_quota()->set_delta(local.charge_delta);
  if (local.more_nodes > 0) *out.mutable_capacity() = opinions.capacity;
  const std::string known = trial.before == nullptr ? "" : trial.before->status.node_profile;
  if (opinions.active != known) out.set_node_profile(opinions.active);
  out.set_pending_node_profile(opinions.pending);
  out.set_nodes_to_reboot(NodesToReboot(nodes, opinions.active.empty() ? known : opinions.active));
  return out;
}

}  // namespace muster::lifecycle
