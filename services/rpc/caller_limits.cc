#include "services/rpc/caller_limits.h"

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster::rpc {
namespace {

// Where it is not known when there will be room.
constexpr absl::Duration kRetryAfter = absl::Milliseconds(100);
// Calls that may be made at once, in seconds of their rate.
constexpr absl::Duration kBurst = absl::Seconds(1);

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
  }
  return *this;
}

void CallerLimits::Place::GiveBack() {
  if (use_ != nullptr) limits_->Leave(std::exchange(use_, nullptr), kind_);
}

absl::Status CallerLimits::Check(const Use& use, Kind kind, absl::Duration now) {
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

absl::StatusOr<CallerLimits::Place> CallerLimits::Enter(absl::string_view principal, Kind kind) {
  const absl::Duration now = clock_.Now();
  MutexLock lock(mutex_);
  Sweep(uses_, sweep_at_, [&](const auto& use) { return IsIdle(*use.second, now); });
  std::shared_ptr<Use>& use = uses_[principal];
  if (use == nullptr) use = std::make_shared<Use>(Use{.principal = std::string(principal)});
  const absl::Status status = Check(*use, kind, now);
  if (!status.ok()) return status;
  ++(kind == Kind::kCall ? use->calls : use->watches);
  if (options_.calls_per_second > 0)
    use->pace.Add(absl::Seconds(1) / options_.calls_per_second, now);
  return Place(this, use, kind);
}

void CallerLimits::Leave(const std::shared_ptr<Use>& use, Kind kind) {
  const absl::Duration now = clock_.Now();
  MutexLock lock(mutex_);
  --(kind == Kind::kCall ? use->calls : use->watches);
  if (IsIdle(*use, now)) uses_.erase(use->principal);
}

CallerLimits::Stats CallerLimits::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

size_t CallerLimits::size() const {
  MutexLock lock(mutex_);
  return uses_.size();
}

}  // namespace muster::rpc
