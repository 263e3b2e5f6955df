#include "services/lifecycle/core/health.h"

#include "services/lifecycle/core/limits.h"

namespace muster::lifecycle {
namespace {

// True when what becomes unhealthy now was so before, and that is not forgotten.
bool IsAgain(const Observed& seen, absl::Time now) {
  if (seen.health_window_time == kNever) return false;
  if (now - seen.health_window_time < kHealthWindow) return true;
  if (seen.healthy_time == kNever) return false;
  const absl::Duration healthy = now - seen.healthy_time;
  return healthy < kHealthWindow && healthy <= seen.healthy_time - seen.unhealthy_time;
}

void FallIll(Observed& seen, absl::Time now) {
  if (IsAgain(seen, now)) {
    ++seen.relapses;
    if (seen.healthy_time != kNever) seen.unhealthy_time += now - seen.healthy_time;
  } else {
    seen.relapses = 0;
    seen.health_window_time = seen.unhealthy_time = now;
  }
  seen.healthy_time = kNever;
}

}  // namespace

void SeeHealth(Observed& seen, bool unhealthy, const std::string& why, absl::Time now) {
  if (unhealthy && !seen.unhealthy) FallIll(seen, now);
  if (!unhealthy && seen.unhealthy) seen.healthy_time = now;
  seen.unhealthy = unhealthy;
  seen.health_message = unhealthy ? why : "";
}

void ForgetHealth(Observed& seen) {
  seen.unhealthy = false;
  seen.health_message.clear();
  seen.unhealthy_time = seen.healthy_time = seen.health_window_time = kNever;
  seen.relapses = 0;
}

bool HasRelapsed(const Node& node) { return node.observed.relapses > 0; }

absl::Time UnhealthySince(const Node& node) {
  const absl::Time since = node.observed.unhealthy_time;
  return since == kNever ? node.state_time : since;
}

}  // namespace muster::lifecycle
