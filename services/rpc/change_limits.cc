#include "services/rpc/change_limits.h"

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster::rpc {

absl::StatusOr<std::shared_ptr<ChangePace>> ChangeLimits::Enter(const std::string& account) {
  if (per_minute_ <= 0 || account.empty()) return nullptr;
  MutexLock lock(mutex_);
  // One that a call still holds is not removed: the call will tell it its changes.
  Sweep(paces_, sweep_at_,
        [](const auto& it) { return it.second.use_count() == 1 && it.second->IsIdle(); });
  std::shared_ptr<ChangePace>& pace = paces_[account];
  if (pace == nullptr) pace = std::make_shared<ChangePace>(per_minute_, &clock_);
  const absl::Duration wait = pace->Wait();
  if (wait <= absl::ZeroDuration()) return pace;
  ++refused_;
  return error::Make(absl::StatusCode::kResourceExhausted,
                     absl::StrCat("`", account, "` may change ", per_minute_, " things a minute."),
                     {.reason = "TOO_FAST", .retry_after = wait});
}

int64_t ChangeLimits::refused() const {
  MutexLock lock(mutex_);
  return refused_;
}

size_t ChangeLimits::size() const {
  MutexLock lock(mutex_);
  return paces_.size();
}

}  // namespace muster::rpc
