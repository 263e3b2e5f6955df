#include "services/quota/override_timer.h"

#include <algorithm>

#include "services/common/log.h"
#include "services/quota/core/decide.h"
#include "services/trace/span.h"

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
    : lane_(*lane), clock_(*clock), signal_(std::make_shared<WorkerSignal>()) {
  lane_.Subscribe([signal = signal_](absl::Span<const Revised<State::Change>> changes) {
    if (IsOfQuotas(changes)) signal->Wake();
  });
  thread_ = std::thread([this] { Run(); });
}

OverrideTimer::~OverrideTimer() {
  signal_->Stop();
  thread_.join();
}

void OverrideTimer::Run() {
  absl::Duration wait = absl::ZeroDuration();
  while (signal_->Wait(wait)) {
    const absl::Time next =
        lane_.Peek([](const State& state, int64_t) { return state.NextChangeOfAll(); });
    const absl::Time now = clock_.Now();
    if (next == absl::InfiniteFuture()) {
      wait = absl::InfiniteDuration();
    } else if (next > now) {
      wait = std::min(next - now, kTick);
    } else {
      wait = ApplyDue() ? absl::ZeroDuration() : kTick;
    }
  }
}

bool OverrideTimer::ApplyDue() {
  const trace::Work work("quota settle overrides");
  auto applied = std::make_shared<size_t>(0);
  lane_.Submit(
      [applied](StagedState<State>& staged, absl::Time now) {
        *applied = Decide(staged, ApplyOverrides{}, now);
        return absl::OkStatus();
      },
      [applied, signal = signal_](const absl::Status& status, int64_t) {
        if (!status.ok() && !absl::IsUnavailable(status))
          log::Warn("overrides could not be settled", {{"error", status}});
        signal->JobDone(status.ok() && *applied > 0);
      });
  return signal_->AwaitJob();
}

}  // namespace muster::quota
