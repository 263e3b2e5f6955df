#include "services/quota/override_timer.h"

#include <algorithm>

#include "services/common/log.h"
#include "services/quota/core/decide.h"

namespace muster::quota {
namespace {

// How often the clock is looked at while an override is to come: it may be set, or stand still.
constexpr absl::Duration kTick = absl::Milliseconds(200);

bool IsOfQuotas(absl::Span<const Revised<State::Change>> changes) {
  return changes.empty() || std::any_of(changes.begin(), changes.end(), [](const auto& change) {
           return change.change.kind() == Quota::kKind;
         });
}

}  // namespace

OverrideTimer::OverrideTimer(Lane* lane, const Clock* clock)
    : lane_(*lane), clock_(*clock), alarm_(std::make_shared<Alarm>()) {
  lane_.Subscribe([alarm = alarm_](absl::Span<const Revised<State::Change>> changes) {
    if (IsOfQuotas(changes)) alarm->Changed();
  });
  thread_ = std::thread([this] { Run(); });
}

OverrideTimer::~OverrideTimer() {
  alarm_->Stop();
  thread_.join();
}

void OverrideTimer::Run() {
  absl::Duration wait = absl::ZeroDuration();
  while (alarm_->Wait(wait)) {
    const absl::Time next =
        lane_.Peek([](const State& state, int64_t) { return state.NextChangeOfAll(); });
    const absl::Time now = clock_.Now();
    if (next == absl::InfiniteFuture()) {
      wait = absl::InfiniteDuration();
    } else if (next > now) {
      wait = std::min(next - now, kTick);
    } else {
      wait = Settle() ? absl::ZeroDuration() : kTick;
    }
  }
}

bool OverrideTimer::Settle() {
  auto settled = std::make_shared<size_t>(0);
  lane_.Submit(
      [settled](Overlay<State>& overlay, absl::Time now) {
        *settled = Decide(overlay, SettleOverrides{}, now);
        return absl::OkStatus();
      },
      [settled, alarm = alarm_](const absl::Status& status, int64_t) {
        if (!status.ok() && !absl::IsUnavailable(status))
          log::Warn("overrides could not be settled", {{"error", status}});
        alarm->JobDone(status.ok() && *settled > 0);
      });
  return alarm_->AwaitJob();
}

}  // namespace muster::quota
