#include "services/fleetsim/leases.h"

#include <algorithm>
#include <optional>

#include "services/common/log.h"
#include "services/fleetsim/intervals.h"

namespace muster::fleetsim {
namespace {

using kubernetes::PatchType;

LeaseBook::Outcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return LeaseBook::Outcome::kDone;
  return IsOfObject(status) ? LeaseBook::Outcome::kFailed : LeaseBook::Outcome::kUnreachable;
}

}  // namespace

Leases::Leases(kubernetes::Client& client, const LeaseOptions& options, const Clock& clock)
    : client_(client), clock_(clock), book_(options) {}

Leases::~Leases() { Stop(); }

void Leases::Start(int calls) {
  for (int i = 0; i < calls; ++i) threads_.emplace_back([this] { Work(); });
}

void Leases::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Leases::Renew(const NodeSeen& node) {
  MutexLock lock(mutex_);
  book_.Renew(node.name, node.uid, steady_.Now());
  changed_.Signal();
}

void Leases::Leave(const std::string& node) {
  MutexLock lock(mutex_);
  book_.Leave(node);
}

void Leases::End(const std::string& node) {
  MutexLock lock(mutex_);
  book_.End(node, steady_.Now());
  changed_.Signal();
}

LeaseStats Leases::stats() const {
  MutexLock lock(mutex_);
  LeaseStats stats = stats_;
  stats.kept = book_.kept();
  return stats;
}

void Leases::Work() {
  while (true) {
    std::optional<LeaseBook::Task> task;
    {
      MutexLock lock(mutex_);
      while (!stopped_ && !task) {
        const absl::Duration now = steady_.Now();
        task = book_.Take(now);
        if (!task) changed_.WaitFor(mutex_, std::min(book_.NextDue() - now, kLongestSleep));
      }
      if (stopped_) return;
    }
    Finish(*task, Make(*task));
  }
}

absl::Status Leases::Make(const LeaseBook::Task& task) {
  const std::string path = LeasePath(task.node);
  if (task.ends) {
    const absl::Status status = client_.Delete(path);
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }
  const Json lease = NodeLease(task.node, task.uid, clock_.Now());
  const absl::Status status = client_.Patch(PatchType::kMerge, path, lease).status();
  if (!absl::IsNotFound(status)) return status;
  return client_.Create(kLeasesPath, lease).status();
}

void Leases::Finish(const LeaseBook::Task& task, const absl::Status& status) {
  MutexLock lock(mutex_);
  const absl::Duration now = steady_.Now();
  if (!status.ok()) {
    ++stats_.failed;
    if (!stopped_ && now - last_log_ >= kLogInterval) {
      log::Warn("a Node's lease was not renewed", {{"node", task.node}, {"error", status}});
      last_log_ = now;
    }
  } else if (!task.ends) {
    ++stats_.renewals;
  }
  book_.Done(task, OutcomeOf(status), kubernetes::ErrorOf(status).retry_after, now);
  changed_.Signal();
}

}  // namespace muster::fleetsim
