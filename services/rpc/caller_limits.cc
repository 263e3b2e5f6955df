#include "services/rpc/caller_limits.h"

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::rpc {
namespace {

// When a refused caller may try again, if it is not known when there will be room.
constexpr absl::Duration kRetryAfter = absl::Milliseconds(100);
// How many calls may be made at once, as the time in which the average rate makes them.
constexpr absl::Duration kBurst = absl::Seconds(1);
// Whoever called so recently is one of those who call now.
constexpr absl::Duration kRecent = absl::Seconds(1);
// Calls count as at work for one to two of these.
constexpr absl::Duration kPeriod = absl::Milliseconds(250);
// Of a line, at a time: where its caller is alone again it empties by and by, not within one call's
// end.
constexpr size_t kTurnsAtOnce = 2;

absl::Status Exhausted(absl::string_view reason, absl::string_view message, absl::Duration wait) {
  return error::Make(absl::StatusCode::kResourceExhausted, message,
                     {.reason = std::string(reason), .retry_after = wait});
}

}  // namespace

CallerLimits::Place& CallerLimits::Place::operator=(Place&& other) noexcept {
  if (this != &other) {
    GiveBack();
    limits_ = other.limits_;
    use_ = std::move(other.use_);
    kind_ = other.kind_;
    request_bytes_ = other.request_bytes_;
    begun_ = other.begun_;
  }
  return *this;
}

void CallerLimits::Place::GiveBack() {
  if (use_ != nullptr) limits_->Leave(std::exchange(use_, nullptr), *this);
}

absl::Status CallerLimits::Check(const Use& use, Kind kind, int64_t request_bytes,
                                 absl::Duration now) {
  if (kind == Kind::kCall && use.calls >= options_.calls) {
    ++stats_.too_many_calls;
    return Exhausted("TOO_MANY_CALLS",
                     absl::StrCat("`", use.principal, "` has ", use.calls,
                                  " calls under way, as many as one caller may have."),
                     kRetryAfter);
  }
  if (kind == Kind::kWatch && use.watches >= options_.watches) {
    ++stats_.too_many_watches;
    return Exhausted("TOO_MANY_WATCHES",
                     absl::StrCat("`", use.principal, "` has ", use.watches,
                                  " watches open, as many as one caller may have."),
                     kRetryAfter);
  }
  const int64_t kept = use.watches < kFewWatchesOfACaller ? 0 : options_.all_watches / 10;
  if (kind == Kind::kWatch && watches_ >= options_.all_watches - kept) {
    ++stats_.too_many_watches;
    return Exhausted("TOO_MANY_WATCHES",
                     absl::StrCat("All callers together have ", watches_,
                                  " watches open, as many as this server takes."),
                     kRetryAfter);
  }
  RETURN_IF_ERROR(CheckBytes(use, kind, request_bytes));
  const absl::Duration wait = use.pace.Wait(now, kBurst);
  if (options_.calls_per_second > 0 && wait > absl::ZeroDuration()) {
    ++stats_.too_fast;
    return Exhausted("TOO_FAST",
                     absl::StrCat("`", use.principal, "` may make ", options_.calls_per_second,
                                  " calls a second."),
                     wait);
  }
  return absl::OkStatus();
}

absl::Status CallerLimits::CheckBytes(const Use& use, Kind kind, int64_t request_bytes) {
  const bool alone = use.request_bytes == 0 || (kind == Kind::kCall && use.calls == 0);
  if (alone || use.request_bytes + request_bytes <= options_.request_bytes) return absl::OkStatus();
  ++stats_.too_many_bytes;
  return Exhausted("TOO_MANY_CALLS",
                   absl::StrCat("`", use.principal, "` has requests of ", use.request_bytes,
                                " bytes under way; with the ", request_bytes,
                                " of this one they are more than the ", options_.request_bytes,
                                " that one caller may have."),
                   kRetryAfter);
}

absl::StatusOr<CallerLimits::Place> CallerLimits::Enter(absl::string_view principal, Kind kind,
                                                        int64_t request_bytes) {
  const absl::Duration now = clock_.Now();
  MutexLock lock(mutex_);
  Sweep(uses_, sweep_at_, [&](const auto& use) { return IsIdle(*use.second, now); });
  std::shared_ptr<Use>& use = uses_[principal];
  if (use == nullptr) use = std::make_shared<Use>(Use{.principal = std::string(principal)});
  RETURN_IF_ERROR(Check(*use, kind, request_bytes, now));
  use->request_bytes += request_bytes;
  ++(kind == Kind::kCall ? use->calls : use->watches);
  if (kind == Kind::kWatch) ++watches_;
  if (options_.calls_per_second > 0)
    use->pace.Add(absl::Seconds(1) / options_.calls_per_second, now);
  return Place(this, use, kind, request_bytes);
}

bool CallerLimits::Begin(Place& place) {
  if (place.use_ == nullptr) return true;
  Use& use = *place.use_;
  const absl::Duration now = clock_.Now();
  const size_t caller = absl::HashOf(use.principal);
  MutexLock lock(mutex_);
  if (std::exchange(last_caller_, caller) != caller) shared_until_ = now + kRecent;
  if (!use.line.empty() || Running(use, now) >= MostRunning(now)) return false;
  CountBegun(use, place);
  return true;
}

int64_t CallerLimits::Running(Use& use, absl::Duration now) {
  const int64_t period = absl::ToInt64Nanoseconds(now) / absl::ToInt64Nanoseconds(kPeriod);
  // `now` may be older than another thread's.
  if (period > use.period) {
    use.before = period == use.period + 1 ? use.running : 0;
    use.running = 0;
    use.period = period;
  }
  return use.running + use.before;
}

void CallerLimits::CountBegun(Use& use, Place& place) {
  ++use.running;
  place.begun_ = use.period;
}

int64_t CallerLimits::MostRunning(absl::Duration now) const {
  return now < shared_until_ ? options_.running_calls : options_.calls;
}

void CallerLimits::Wait(std::shared_ptr<CallInLine> call) {
  const absl::Duration now = clock_.Now();
  Line turns;
  {
    MutexLock lock(mutex_);
    Use& use = *call->place.use_;
    CallInLine& waits = *call;
    waits.node_.front() = std::move(call);
    waits.at_ = waits.node_.begin();
    waits.waits_ = true;
    use.line.splice(use.line.end(), waits.node_);
    ++waiting_;
    turns = TakeTurns(use, now);
  }
  StartThem(std::move(turns));
}

bool CallerLimits::Nudge(CallInLine& call) {
  const absl::Duration now = clock_.Now();
  Line turns;
  {
    MutexLock lock(mutex_);
    if (!call.waits_) return false;
    turns = TakeTurns(*call.place.use_, now);
  }
  StartThem(std::move(turns));
  return IsWaiting(call);
}

bool CallerLimits::IsWaiting(const CallInLine& call) const {
  MutexLock lock(mutex_);
  return call.waits_;
}

bool CallerLimits::GiveUp(CallInLine& call) {
  MutexLock lock(mutex_);
  if (!call.waits_) return false;
  call.waits_ = false;
  --waiting_;
  // The caller of this function holds `call`, too, so it lives on.
  call.place.use_->line.erase(call.at_);
  return true;
}

CallerLimits::Line CallerLimits::TakeTurns(Use& use, absl::Duration now) {
  Line turns;
  while (!use.line.empty() && turns.size() < kTurnsAtOnce && Running(use, now) < MostRunning(now)) {
    CallInLine& next = *use.line.front();
    turns.splice(turns.end(), use.line, use.line.begin());
    next.waits_ = false;
    CountBegun(use, next.place);
    --waiting_;
  }
  return turns;
}

void CallerLimits::StartThem(Line turns) {
  thread_local Line due;
  thread_local bool starting = false;
  due.splice(due.end(), turns);
  if (std::exchange(starting, true)) return;
  while (!due.empty()) {
    const std::shared_ptr<CallInLine> next = std::move(due.front());
    due.pop_front();
    next->Start();
  }
  starting = false;
}

void CallerLimits::Leave(const std::shared_ptr<Use>& use, const Place& place) {
  const absl::Duration now = clock_.Now();
  Line turns;
  {
    MutexLock lock(mutex_);
    use->request_bytes -= place.request_bytes_;
    --(place.kind_ == Kind::kCall ? use->calls : use->watches);
    if (place.kind_ == Kind::kWatch) --watches_;
    if (place.begun_ == use->period) --use->running;
    if (place.begun_ == use->period - 1 && place.begun_ != kNotBegun) --use->before;
    turns = TakeTurns(*use, now);
    if (IsIdle(*use, now)) uses_.erase(use->principal);
  }
  if (!turns.empty()) StartThem(std::move(turns));
}

CallerLimits::Stats CallerLimits::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

int64_t CallerLimits::waiting() const {
  MutexLock lock(mutex_);
  return waiting_;
}

size_t CallerLimits::size() const {
  MutexLock lock(mutex_);
  return uses_.size();
}

}  // namespace muster::rpc
