#include "services/lifecycle/commit_proof.h"

#include <algorithm>
#include <utility>

namespace muster::lifecycle {
namespace {

// Writes, and leaves the row as it was: a change and its undoing, in the journal and the table.
absl::Status WriteLeaseAgain(Overlay<State>& overlay) {
  const Lease* lease = overlay.state().table<Lease>().Find(Lease::kName);
  if (lease == nullptr) return absl::OkStatus();
  const Lease before = *lease;
  Lease other = before;
  other.holder += '~';
  overlay.Put(std::move(other));
  overlay.Put(before);
  return absl::OkStatus();
}

// What the tables or the connection say, not what the rules say of one command.
bool IsOfThePath(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsUnavailable(status) || absl::IsUnknown(status) ||
         absl::IsDeadlineExceeded(status);
}

}  // namespace

void CommitProof::Show(Lane& lane, absl::Duration most) {
  bool write = false;
  bool submit = false;
  {
    MutexLock lock(mutex_);
    submit = !std::exchange(under_way_, true);
    write = failing_;
  }
  if (submit) {
    lane.Submit(
        [write](Overlay<State>& overlay, absl::Time) {
          return write ? WriteLeaseAgain(overlay) : absl::OkStatus();
        },
        [self = shared_from_this(), since = clock_.Now(), write](
            const absl::Status& status, int64_t) { self->ProbeEnded(status, since, write); });
  }
  const absl::Duration until = clock_.Now() + most;
  MutexLock lock(mutex_);
  while (under_way_ && !stopping_ && clock_.Now() < until) {
    ends_.WaitFor(mutex_, until - clock_.Now());
  }
}

void CommitProof::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  ends_.SignalAll();
}

void CommitProof::Ended(const absl::Status& status, absl::Duration since) {
  MutexLock lock(mutex_);
  if (status.ok()) {
    failing_ = false;
    proven_ = std::max(proven_, since);
  } else if (IsOfThePath(status)) {
    failing_ = true;
  }
}

void CommitProof::ProbeEnded(const absl::Status& status, absl::Duration since, bool wrote) {
  MutexLock lock(mutex_);
  under_way_ = false;
  ends_.SignalAll();
  if (!status.ok()) return;
  if (wrote) failing_ = false;
  // An empty command shows nothing while those that write fail.
  if (wrote || !failing_) proven_ = std::max(proven_, since);
}

absl::Duration CommitProof::age() const {
  MutexLock lock(mutex_);
  return clock_.Now() - proven_;
}

}  // namespace muster::lifecycle
