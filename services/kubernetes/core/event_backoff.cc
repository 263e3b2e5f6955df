#include "services/kubernetes/core/event_backoff.h"

#include <algorithm>

#include "services/common/backoff.h"

namespace muster::kubernetes {

void EventBackoff::Refused(const std::string& event, absl::Duration now) {
  const absl::Duration rest = PauseAfter(++in_row_, kFirstRest, kLongestRest);
  rest_until_ = std::max(rest_until_, now + rest);
  retry_time_ = now + PauseAfter(++refusals_[event], kFirstRetry, kLongestRetry);
}

void EventBackoff::Away(absl::Duration now, absl::Duration at_least) {
  rest_until_ = std::max(rest_until_, now + std::max(kFirstRetry, at_least));
}

void EventBackoff::Written(const std::string& event) {
  in_row_ = 0;
  if (refusals_.erase(event) > 0) retry_time_ = -absl::InfiniteDuration();
}

int EventBackoff::RefusalsOf(const std::string& event) const {
  const auto found = refusals_.find(event);
  return found == refusals_.end() ? 0 : found->second;
}

}  // namespace muster::kubernetes
