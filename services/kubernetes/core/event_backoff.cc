#include "services/kubernetes/core/event_backoff.h"

#include <algorithm>

#include "services/common/backoff.h"

namespace muster::kubernetes {

void EventBackoff::Refused(const std::string& event, absl::Duration now) {
  const absl::Duration rest = PauseAfter(++in_row_, kFirstRest, kLongestRest);
  rest_until_ = std::max(rest_until_, now + rest);
  const int refusals = ++refusals_[event];
  // One that is refused for the first time says nothing of those that wait: as long as such come,
  // none of them would be tried.
  if (refusals > 1 || !IsSet())
    retry_time_ = now + PauseAfter(refusals, kFirstRetry, kLongestRetry);
}

void EventBackoff::Away(absl::Duration now, absl::Duration at_least) {
  rest_until_ = std::max(rest_until_, now + std::max(kFirstRetry, at_least));
}

void EventBackoff::Written(const std::string& event) {
  in_row_ = 0;
  if (refusals_.erase(event) > 0) retry_time_ = -absl::InfiniteDuration();
}

void EventBackoff::Dropped(const std::string& event) {
  refusals_.erase(event);
  if (refusals_.empty()) retry_time_ = -absl::InfiniteDuration();
}

void EventBackoff::Trying(absl::Duration now) {
  if (IsSet()) retry_time_ = now + kFirstRetry;
}

int EventBackoff::RefusalsOf(const std::string& event) const {
  const auto found = refusals_.find(event);
  return found == refusals_.end() ? 0 : found->second;
}

}  // namespace muster::kubernetes
