#include "services/configuration/release_rollout.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "services/common/cause.h"
#include "services/common/log.h"
#include "services/common/mutex.h"
#include "services/configuration/core/decide.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/release_rollout_metrics.h"
#include "services/rpc/metric_family.h"
#include "services/trace/span.h"

namespace muster::configuration {
namespace {

// Between two attempts while the database is away.
constexpr absl::Duration kRetry = absl::Seconds(1);

bool IsOfReleases(absl::Span<const Revised<State::Change>> changes) {
  return changes.empty() || std::any_of(changes.begin(), changes.end(), [](const auto& change) {
           return change.change.kind() == Release::kKind;
         });
}

}  // namespace

std::vector<prometheus::MetricFamily> ReleaseRolloutMetrics::Collect() const {
  size_t unsettled = 0;
  if (!lane_.Read([&](const Lane& lane) { unsettled = unsettled_.Of(lane); })) return {};
  return {
      rpc::Gauge("muster_configuration_unsettled_pools",
                 "Pools that have yet to be looked at after a release came or went.", unsettled),
      rpc::Counter("muster_configuration_settle_batches_total",
                   "Batches of pools that this replica looked at after releases.", batches_.load()),
      rpc::Counter("muster_configuration_settled_pools_total",
                   "Pools whose configuration this replica changed after releases.",
                   changed_.load())};
}

ReleaseRollout::ReleaseRollout(Lane* lane)
    : lane_(*lane),
      signal_(std::make_shared<WorkerSignal>()),
      metrics_(std::make_shared<ReleaseRolloutMetrics>(lane)) {
  lane_.Subscribe(
      [signal = signal_, metrics = metrics_](absl::Span<const Revised<State::Change>> changes) {
        if (!IsOfReleases(changes)) return;
        metrics->ReleasesChanged();
        signal->Wake();
      });
  thread_ = std::thread([this] { Run(); });
}

ReleaseRollout::~ReleaseRollout() {
  metrics_->Detach();
  signal_->Stop();
  thread_.join();
}

std::shared_ptr<prometheus::Collectable> ReleaseRollout::collectable() const { return metrics_; }

void ReleaseRollout::Run() {
  absl::Duration wait = absl::ZeroDuration();
  while (signal_->Wait(wait)) wait = RollOut() ? absl::InfiniteDuration() : kRetry;
}

bool ReleaseRollout::RollOut() {
  const std::vector<std::string> keys = UnsettledPools(lane_);
  if (keys.empty()) return true;
  const trace::Work work("configuration settle");
  for (size_t at = 0; at < keys.size(); at += kMaxSettled) {
    const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(at);
    const size_t size = std::min(kMaxSettled, keys.size() - at);
    if (!SettleBatch({begin, begin + static_cast<std::ptrdiff_t>(size)})) return false;
  }
  return true;
}

bool ReleaseRollout::SettleBatch(std::vector<std::string> keys) {
  auto changed = std::make_shared<size_t>(0);
  lane_.Submit(
      [command = SettlePools{std::move(keys)}, changed](StagedState<State>& staged,
                                                        absl::Time now) {
        *changed = Decide(staged, command, now);
        return absl::OkStatus();
      },
      [changed, signal = signal_, metrics = metrics_](const absl::Status& status, int64_t) {
        if (status.ok()) {
          metrics->BatchDone(*changed);
        } else if (!absl::IsUnavailable(status)) {
          log::Warn("pools could not be settled", {{"error", muster::error::ForOperators(status)}});
        }
        signal->JobDone(status.ok());
      });
  return signal_->AwaitJob();
}

}  // namespace muster::configuration
