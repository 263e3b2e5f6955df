#include "services/lifecycle/reconcile/lease_holder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "services/common/cause.h"
#include "services/common/current_caller.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"

namespace muster::lifecycle {
namespace {

// How often the log says that the lease cannot be written: beats fail several times a second.
constexpr absl::Duration kComplaintPause = absl::Minutes(1);

// A name that tells people which process it is, and that no other process has, not even on a host
// of the same name.
std::string NewHolder() {
  std::array<char, 65> host = {};
  gethostname(host.data(), host.size() - 1);
  std::random_device random;
  return absl::StrFormat("%s_%d_%08x", host.data(), getpid(), random());
}

// A beat that is answered later than a lease lasts is of no use: neither who leads is to be taken
// for the leader meanwhile, nor is whoever stops it to wait.
storage::ConnectOptions ForBeats(storage::ConnectOptions connect, absl::Duration ttl) {
  connect.statement_timeout = std::min(connect.statement_timeout, ttl);
  return connect;
}

}  // namespace

LeaseHolder::LeaseHolder(Options options)
    : options_(std::move(options)),
      holder_(NewHolder()),
      clock_(*TheSteadyClock()),
      store_(ForBeats(options_.connect, options_.ttl)),
      keeper_(options_.ttl) {}

void LeaseHolder::Start() {
  thread_ = std::thread([this] { Hold(); });
}

void LeaseHolder::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

void LeaseHolder::PlanEnded(const absl::Status& status, absl::Duration submitted) {
  MutexLock lock(mutex_);
  keeper_.CommandEnded(status, submitted);
}

void LeaseHolder::Refused(int64_t epoch) {
  MutexLock lock(mutex_);
  keeper_.Refused(epoch);
}

void LeaseHolder::Hold() {
  const CurrentCaller first = CurrentCaller::AheadOfCallers();
  {
    // As if somebody led until now: nothing counts as leaderless before there was time to take the
    // lease.
    MutexLock lock(mutex_);
    keeper_.Saw(true, clock_.Now());
  }
  while (!stopping()) {
    Probe(options_.ttl / 4);
    RenewLease();
    MutexLock lock(mutex_);
    if (!stopping_) wakes_.WaitFor(mutex_, options_.ttl / 4);
  }
  {
    MutexLock lock(mutex_);
    keeper_.StepDown();
  }
  Tell();
  // So that the next holder need not wait until it runs out.
  (void)store_.Release(holder_);
}

void LeaseHolder::Probe(absl::Duration most) {
  bool writes = false;
  bool submit = false;
  {
    MutexLock lock(mutex_);
    submit = !std::exchange(probing_, true);
    writes = keeper_.probe_writes();
  }
  if (submit) {
    options_.lane->Submit(
        [writes](StagedState<State>& staged, absl::Time) {
          return writes ? RewriteLease(staged) : absl::OkStatus();
        },
        [self = shared_from_this(), since = clock_.Now(), writes](const absl::Status& status,
                                                                  int64_t) {
          MutexLock lock(self->mutex_);
          self->probing_ = false;
          self->keeper_.ProbeEnded(status, since, writes);
          self->wakes_.SignalAll();
        });
  }
  const absl::Duration until = clock_.Now() + most;
  MutexLock lock(mutex_);
  while (probing_ && !stopping_ && clock_.Now() < until) {
    wakes_.WaitFor(mutex_, until - clock_.Now());
  }
}

void LeaseHolder::RenewLease() {
  const absl::Duration now = clock_.Now();
  LeaseKeeper::Step step = LeaseKeeper::Step::kWait;
  absl::Duration length = absl::ZeroDuration();
  {
    MutexLock lock(mutex_);
    step = keeper_.Next(now);
    if (step == LeaseKeeper::Step::kRenew) length = keeper_.Ask(now);
  }
  if (step == LeaseKeeper::Step::kWait) return Look();
  if (step == LeaseKeeper::Step::kGiveUp) {
    log::Warn("this replica cannot commit", {{"holder", holder_}});
    Tell();
    (void)store_.Release(holder_);
    return;
  }
  const absl::StatusOr<int64_t> epoch = store_.RenewLease(holder_, length);
  const std::string incarnation = options_.lane->PeekAt(
      [](const State&, const auto& at) { return std::string(at.incarnation); });
  LeaseKeeper::Verdict verdict = LeaseKeeper::Verdict::kNothing;
  {
    MutexLock lock(mutex_);
    verdict = keeper_.Answered(epoch, now, incarnation);
  }
  Tell();
  // A leader has time for further beats after one that failed; a replica that does not lead says so
  // at once.
  if (!epoch.ok() && verdict == LeaseKeeper::Verdict::kStepDown) Complain(epoch.status());
  if (!epoch.ok()) return Look();
  if (verdict == LeaseKeeper::Verdict::kTakeOver) Lead(*epoch, incarnation);
}

void LeaseHolder::Lead(int64_t epoch, const std::string& incarnation) {
  const absl::StatusOr<bool> taken = TakeOver(epoch, incarnation);
  if (!taken.ok()) {
    // The next beat tries again, under a new epoch; another replica may be quicker, and able.
    if (!stopping())
      log::Warn("the lease could not be taken",
                {{"error", muster::error::ForOperators(taken.status())}});
    (void)store_.Release(holder_);
    return;
  }
  if (!*taken) return;
  {
    MutexLock lock(mutex_);
    keeper_.TookOver(epoch);
  }
  Tell();
}

void LeaseHolder::Complain(const absl::Status& status) {
  const absl::Duration now = clock_.Now();
  if (now - complained_at_ < kComplaintPause) return;
  complained_at_ = now;
  log::Warn("the lease could not be written", {{"error", muster::error::ForOperators(status)}});
}

void LeaseHolder::Look() {
  if (stopping()) return;  // who ends need not know, and may have waited for its beat already
  const absl::Duration now = clock_.Now();
  const absl::StatusOr<bool> is_held = store_.IsHeld();
  MutexLock lock(mutex_);
  keeper_.Saw(is_held.ok() ? std::optional<bool>(*is_held) : std::nullopt, now);
}

absl::StatusOr<bool> LeaseHolder::TakeOver(int64_t epoch, const std::string& incarnation) {
  if (taking_.epoch != epoch || taking_.incarnation != incarnation) taking_ = {epoch, incarnation};
  const absl::Duration until = clock_.Now() + options_.ttl / 4;
  do {
    RETURN_IF_ERROR(TakeOverSome());
    if (taking_.raised_through.empty()) return true;
  } while (clock_.Now() < until && !stopping());
  return false;
}

absl::Status LeaseHolder::TakeOverSome() {
  // Under the mutex.
  const auto ended = std::make_shared<std::optional<absl::Status>>();
  const auto raised_through = std::make_shared<std::string>();
  options_.lane->Submit(
      [command = TakeLease{holder_, taking_.epoch, taking_.incarnation, taking_.raised_through,
                           options_.most_raised},
       raised_through](StagedState<State>& staged, absl::Time now) {
        const StatusOrOutcome outcome = Decide(staged, command, now);
        if (outcome.ok()) *raised_through = outcome->raised_through;
        return outcome.status();
      },
      [self = shared_from_this(), ended, since = clock_.Now()](const absl::Status& status,
                                                               int64_t) {
        MutexLock lock(self->mutex_);
        self->keeper_.CommandEnded(status, since);
        *ended = status;
        self->wakes_.SignalAll();
      },
      absl::InfiniteFuture(), taking_.incarnation);
  const absl::Duration until = clock_.Now() + options_.ttl;
  MutexLock lock(mutex_);
  while (!*ended && !stopping_ && clock_.Now() < until) {
    wakes_.WaitFor(mutex_, until - clock_.Now());
  }
  RETURN_IF_ERROR(
      ended->value_or(absl::DeadlineExceededError("The takeover was not committed in time.")));
  taking_.raised_through = *raised_through;
  return absl::OkStatus();
}

void LeaseHolder::Tell() {
  int64_t epoch = 0;
  {
    MutexLock lock(mutex_);
    epoch = keeper_.epoch();
  }
  const int64_t before = epoch_.exchange(epoch);
  if (before == epoch) return;
  if (epoch == 0) {
    log::Info("not reconciling any more", {{"holder", holder_}});
  } else {
    log::Info("reconciling", {{"holder", holder_}, {"epoch", epoch}});
  }
  options_.changed(epoch != 0);
}

}  // namespace muster::lifecycle
