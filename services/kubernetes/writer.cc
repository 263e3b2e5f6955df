#include "services/kubernetes/writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/backoff.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {
namespace {

// After its pause a write that is still wanted is tried within this.
constexpr absl::Duration kWanted = absl::Minutes(10);

}  // namespace

absl::Duration WriteBackoff::PauseOf(const std::string& write, absl::Duration now) const {
  MutexLock lock(mutex_);
  const auto found = states_.find(write);
  if (found == states_.end()) return absl::ZeroDuration();
  return std::max(absl::ZeroDuration(), found->second.due - now);
}

void WriteBackoff::Failed(const std::string& write, absl::Duration now, absl::Duration at_least) {
  MutexLock lock(mutex_);
  State& state = states_[write];
  const absl::Duration pause = PauseAfter(++state.failures, options_.first, options_.last);
  state.due = now + Jittered(pause, random_, at_least);
  if (states_.size() > trim_size_) Trim(now);
}

void WriteBackoff::Trim(absl::Duration now) {
  absl::erase_if(states_, [&](const auto& it) { return it.second.due + kWanted < now; });
  trim_size_ = std::max<size_t>(1024, 2 * states_.size());
}

void WriteBackoff::Succeeded(const std::string& write) {
  MutexLock lock(mutex_);
  states_.erase(write);
}

size_t WriteBackoff::size() const {
  MutexLock lock(mutex_);
  return states_.size();
}

absl::StatusOr<Json> Writer::Try(const std::string& write,
                                 const std::function<absl::StatusOr<Json>()>& send) {
  const absl::Duration pause = backoff_.PauseOf(write, clock_.Now());
  if (pause > absl::ZeroDuration()) return HeldBack(write, pause);
  absl::StatusOr<Json> written = send();
  const ApiError error = ErrorOf(written.status());
  // An object that is gone is not written again.
  if (written.ok() || absl::IsNotFound(written.status())) {
    backoff_.Succeeded(write);
  } else if (error.code != 0) {
    backoff_.Failed(write, clock_.Now(), error.retry_after);
  }
  return written;
}

absl::StatusOr<Json> Writer::Patch(PatchType type, const std::string& path, const Json& patch,
                                   const Parameters& parameters, absl::string_view part) {
  return Try(
      absl::StrCat("PATCH ", static_cast<int>(type), " ", path, part.empty() ? "" : " ", part),
      [&] { return api_.Patch(type, path, patch, parameters); });
}

absl::Status Writer::Delete(const std::string& path, const std::string& uid) {
  return Try(absl::StrCat("DELETE ", path),
             [&]() -> absl::StatusOr<Json> {
               RETURN_IF_ERROR(api_.Delete(path, OptionsToDelete(uid)));
               return Json();
             })
      .status();
}

}  // namespace muster::kubernetes
