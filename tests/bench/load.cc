#include "tests/bench/load.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "absl/time/clock.h"
#include "services/common/mutex.h"

namespace muster::bench {
namespace {

enum class Phase { kWarmUp, kMeasured, kOver };

// One closed loop; lives until its last call is answered.
class Loop {
 public:
  Loop(int in_flight, const IssueCall& issue)
      : issue_(issue), running_(in_flight), latencies_(static_cast<size_t>(in_flight)) {}

  void Next(int slot) {
    const absl::Time begin = absl::Now();
    issue_(slot, [this, slot, begin](const absl::Status& status) {
      const Phase phase = phase_;
      if (phase == Phase::kMeasured) {
        if (!status.ok()) ++failed_;
        latencies_[static_cast<size_t>(slot)].push_back(
            absl::ToDoubleMilliseconds(absl::Now() - begin));
      }
      if (phase != Phase::kOver) return Next(slot);
      MutexLock lock(mutex_);
      if (--running_ == 0) over_.Signal();
    });
  }
  void Enter(Phase phase) { phase_ = phase; }
  void WaitUntilOver() {
    MutexLock lock(mutex_);
    while (running_ > 0) over_.Wait(mutex_);
  }
  int64_t failed() const { return failed_; }
  // After the end only.
  std::vector<double> Latencies() const {
    std::vector<double> all;
    for (const auto& slot : latencies_) all.insert(all.end(), slot.begin(), slot.end());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  const IssueCall& issue_;
  std::atomic<Phase> phase_ = Phase::kWarmUp;
  std::atomic<int64_t> failed_ = 0;
  Mutex mutex_;
  CondVar over_;
  int running_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::vector<double>>
      latencies_;  // a slot has one call under way, so its vector has one writer
};

double Percentile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(part * static_cast<double>(sorted.size())))];
}

}  // namespace

Rate RunClosedLoop(int in_flight, absl::Duration warm_up, absl::Duration measured,
                   const IssueCall& issue) {
  Loop loop(in_flight, issue);
  for (int slot = 0; slot < in_flight; ++slot) loop.Next(slot);
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(warm_up));
  const absl::Time begin = absl::Now();
  loop.Enter(Phase::kMeasured);
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(measured));
  const absl::Duration took = absl::Now() - begin;
  loop.Enter(Phase::kOver);
  loop.WaitUntilOver();
  const std::vector<double> latencies = loop.Latencies();
  return {static_cast<double>(latencies.size()) / absl::ToDoubleSeconds(took),
          Percentile(latencies, 0.5), Percentile(latencies, 0.99), loop.failed()};
}

}  // namespace muster::bench
