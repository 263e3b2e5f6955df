#include "services/lifecycle/core/lease.h"

#include <algorithm>
#include <utility>

namespace muster::lifecycle {
namespace {

// True for errors of the tables or the connection, and not for a refusal of one command.
bool IsOfThePath(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsUnavailable(status) || absl::IsUnknown(status) ||
         absl::IsDeadlineExceeded(status);
}

}  // namespace

// --- the heartbeat ---

bool IsOver(const Heartbeat& row, absl::Time now) {
  const absl::Duration length = row.expire_time - row.write_time;
  return now >= row.expire_time || now < row.write_time - length;
}

std::optional<Heartbeat> RenewLease(const std::optional<Heartbeat>& row, int64_t led,
                                    absl::string_view holder, absl::Duration ttl, absl::Time now) {
  const bool is_free = !row || IsOver(*row, now);
  if (!is_free && row->holder != holder) return std::nullopt;
  const int64_t epoch = is_free ? 1 + std::max(led, row ? row->epoch : 0) : row->epoch;
  return Heartbeat{std::string(holder), epoch, now, now + ttl};
}

std::optional<Heartbeat> Release(const std::optional<Heartbeat>& row, absl::string_view holder,
                                 absl::Time now) {
  if (!row || row->holder != holder) return std::nullopt;
  return Heartbeat{row->holder, row->epoch, now, now};
}

// --- one replica ---

bool IsTakenIn(const State& state, absl::string_view incarnation) {
  const Lease* lease = state.table<Lease>().Find(Lease::kName);
  return lease != nullptr && lease->incarnation == incarnation;
}

absl::Status RewriteLease(StagedState<State>& staged) {
  const Lease* lease = staged.state().table<Lease>().Find(Lease::kName);
  if (lease == nullptr) return absl::OkStatus();
  const Lease before = *lease;
  Lease other = before;
  other.holder += '~';
  staged.Put(std::move(other));
  staged.Put(before);
  return absl::OkStatus();
}

void LeaseKeeper::CommandEnded(const absl::Status& status, absl::Duration submitted) {
  if (status.ok()) {
    failing_ = false;
    proven_ = std::max(proven_, submitted);
  } else if (IsOfThePath(status)) {
    failing_ = true;
  }
}

void LeaseKeeper::ProbeEnded(const absl::Status& status, absl::Duration submitted, bool wrote) {
  probe_failed_ = !status.ok();
  if (!status.ok()) return;
  if (wrote) failing_ = false;
  // An empty command shows nothing while those that write fail.
  if (!failing_) proven_ = std::max(proven_, submitted);
}

LeaseKeeper::Step LeaseKeeper::Next(absl::Duration now) {
  const absl::Duration unproven = now - proven_;
  // Who just failed to write would fail to take over, too.
  if (failing_ && epoch_ == 0) return Step::kWait;
  // One that would last for less than half is not worth asking for.
  if (unproven <= ttl_ / 2) return Step::kRenew;
  if (unproven <= ttl_ || epoch_ == 0) return Step::kWait;
  epoch_ = 0;
  return Step::kGiveUp;
}

LeaseKeeper::Verdict LeaseKeeper::Answered(const absl::StatusOr<int64_t>& epoch,
                                           absl::Duration asked, absl::string_view incarnation) {
  if (!epoch.ok()) {
    if (asked <= good_until_) return Verdict::kNothing;
    epoch_ = 0;
    return Verdict::kStepDown;
  }
  if (*epoch == 0) {
    Saw(true, asked);
    epoch_ = 0;
    return Verdict::kStepDown;
  }
  good_until_ = asked_until_;
  const bool same_history = std::exchange(incarnation_, std::string(incarnation)) == incarnation;
  if (*epoch == epoch_ && same_history && !std::exchange(refused_, false)) {
    Saw(true, asked);
    return Verdict::kNothing;
  }
  // Nobody leads by it before the takeover is committed.
  Saw(false, asked);
  epoch_ = 0;
  return Verdict::kTakeOver;
}

}  // namespace muster::lifecycle
