#include "services/fleetsim/lease_book.h"

#include <algorithm>

#include "services/common/backoff.h"
#include "services/common/fnv.h"

namespace muster::fleetsim {
namespace {

// The Node's place in the interval, from 0 to 1, evenly spread over all Nodes. The same in every
// process.
double PlaceOf(const std::string& node) {
  uint64_t hash = Fnv1a(node);
  hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
  return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

}  // namespace

void LeaseBook::Set(Lease& lease, Course course) {
  kept_ += (course == Course::kKept ? 1 : 0) - (lease.course == Course::kKept ? 1 : 0);
  lease.course = course;
}

void LeaseBook::Enqueue(const std::string& node, Lease& lease, absl::Duration due) {
  Dequeue(node, lease);
  lease.due = due;
  lease.queued = true;
  queue_.emplace(due, node);
}

void LeaseBook::Dequeue(const std::string& node, Lease& lease) {
  if (!lease.queued) return;
  queue_.erase({lease.due, node});
  lease.queued = false;
}

void LeaseBook::Renew(const std::string& node, const std::string& uid, absl::Duration now) {
  Lease& lease = leases_[node];
  if (lease.course == Course::kKept && lease.uid == uid) return;
  Set(lease, Course::kKept);
  lease.uid = uid;
  if (!lease.busy) Enqueue(node, lease, now);
}

void LeaseBook::Leave(const std::string& node) {
  const auto it = leases_.find(node);
  if (it == leases_.end()) return;
  Set(it->second, Course::kLeft);
  Dequeue(node, it->second);
}

void LeaseBook::End(const std::string& node, absl::Duration now) {
  const auto it = leases_.find(node);
  if (it == leases_.end() || it->second.course == Course::kEnding) return;
  Lease& lease = it->second;
  Set(lease, Course::kEnding);
  Dequeue(node, lease);
  if (!lease.written) {
    leases_.erase(it);
  } else if (!lease.busy) {
    Enqueue(node, lease, now);
  }
}

absl::Duration LeaseBook::NextDue() const {
  return queue_.empty() ? absl::InfiniteDuration() : std::max(queue_.begin()->first, not_before_);
}

std::optional<LeaseBook::Task> LeaseBook::Take(absl::Duration now) {
  if (NextDue() > now) return std::nullopt;
  const std::string node = queue_.begin()->second;
  Lease& lease = leases_.find(node)->second;
  Dequeue(node, lease);
  lease.busy = true;
  lease.written = true;
  return Task{node, lease.uid, lease.course == Course::kEnding, now};
}

void LeaseBook::Done(const Task& task, Outcome outcome, absl::Duration pause, absl::Duration now) {
  const auto it = leases_.find(task.node);
  Lease& lease = it->second;
  lease.busy = false;
  lease.failures = outcome == Outcome::kDone ? 0 : lease.failures + 1;
  unreachable_ = outcome == Outcome::kUnreachable ? unreachable_ + 1 : 0;
  if (outcome == Outcome::kUnreachable)
    not_before_ = std::max(
        not_before_,
        now + std::max(pause, PauseAfter(unreachable_, options_.first_retry, options_.last_retry)));
  if (lease.course == Course::kLeft) return;
  const bool ends = lease.course == Course::kEnding;
  if (outcome == Outcome::kDone && task.ends && ends) {
    leases_.erase(it);
  } else if (outcome != Outcome::kDone) {
    Enqueue(task.node, lease,
            now + std::max(pause,
                           PauseAfter(lease.failures, options_.first_retry, options_.last_retry)));
  } else if (ends || task.ends || task.uid != lease.uid) {
    Enqueue(task.node, lease, now);  // something else was asked for meanwhile
  } else {
    // A renewal that came late keeps its place in the interval, unless it was a whole interval
    // late.
    absl::Duration next = task.taken + options_.interval * PlaceOf(task.node);
    if (lease.spread) next = lease.due + options_.interval;
    if (lease.spread && next <= now) next = task.taken + options_.interval;
    lease.spread = true;
    Enqueue(task.node, lease, next);
  }
}

}  // namespace muster::fleetsim
