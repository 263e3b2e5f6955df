#include "tests/bench/load.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "services/common/mutex.h"

namespace muster::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

enum class Phase { kWarmUp, kMeasured, kOver };

// What all callers of a loop share.
struct Loop {
  explicit Loop(size_t callers) : running(callers) {}

  void WaitUntilOver() {
    MutexLock lock(mutex);
    while (running > 0) over.Wait(mutex);
  }

  std::atomic<Phase> phase = Phase::kWarmUp;
  Mutex mutex;
  CondVar over;
  size_t running MUSTER_GUARDED_BY(mutex);
};

// One caller in its loop. Its numbers have one writer at a time: a caller has one call under way.
class Slot final : public Listener {
 public:
  Slot(Loop& loop, Caller& caller) : loop_(loop), caller_(caller) {
    latencies_ms_.reserve(1 << 12);
  }

  void Next() {
    begin_ = SteadyClock::now();
    caller_.Issue(*this);
  }

  void Answered(const Outcome& outcome) override {
    const Phase phase = loop_.phase.load(std::memory_order_acquire);
    if (phase == Phase::kMeasured) {
      operations_ += outcome.operations;
      failed_ += outcome.failed;
      if (outcome.failed < outcome.operations)
        latencies_ms_.push_back(
            std::chrono::duration<float, std::milli>(SteadyClock::now() - begin_).count());
    }
    if (phase != Phase::kOver) return Next();
    MutexLock lock(loop_.mutex);
    if (--loop_.running == 0) loop_.over.Signal();
  }

  int64_t operations() const { return operations_; }
  int64_t failed() const { return failed_; }
  const std::vector<float>& latencies_ms() const { return latencies_ms_; }

 private:
  Loop& loop_;
  Caller& caller_;
  SteadyClock::time_point begin_;
  int64_t operations_ = 0;
  int64_t failed_ = 0;
  std::vector<float> latencies_ms_;
};

}  // namespace

Rate RateOf(int64_t operations, int64_t failed, absl::Duration took,
            std::vector<float> latencies_ms) {
  std::sort(latencies_ms.begin(), latencies_ms.end());
  const auto percentile = [&](double part) -> double {
    if (latencies_ms.empty()) return 0;
    const auto at = static_cast<size_t>(part * static_cast<double>(latencies_ms.size()));
    return latencies_ms[std::min(latencies_ms.size() - 1, at)];
  };
  return {static_cast<double>(operations - failed) / absl::ToDoubleSeconds(took), percentile(0.5),
          percentile(0.99), failed, operations - failed};
}

Rate RunClosedLoop(const Callers& callers, absl::Duration warm_up, absl::Duration measured,
                   CpuMeter& meter) {
  Loop loop(callers.size());
  std::vector<std::unique_ptr<Slot>> slots;
  for (const auto& caller : callers) slots.push_back(std::make_unique<Slot>(loop, *caller));
  for (const auto& slot : slots) slot->Next();
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(warm_up));
  meter.Begin();
  const auto begin = SteadyClock::now();
  loop.phase = Phase::kMeasured;
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(measured));
  const absl::Duration took = absl::FromChrono(SteadyClock::now() - begin);
  loop.phase = Phase::kOver;
  meter.End();
  loop.WaitUntilOver();
  Outcome all{0, 0};
  std::vector<float> latencies_ms;
  for (const auto& slot : slots) {
    all.operations += slot->operations();
    all.failed += slot->failed();
    latencies_ms.insert(latencies_ms.end(), slot->latencies_ms().begin(),
                        slot->latencies_ms().end());
  }
  return RateOf(all.operations, all.failed, took, std::move(latencies_ms));
}

}  // namespace muster::bench
