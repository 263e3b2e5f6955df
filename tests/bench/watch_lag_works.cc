#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/status_macros.h"
#include "tests/bench/open_watches.h"
#include "tests/bench/work.h"

// How late watchers hear of what is written at a steady rate.
namespace muster::bench {
namespace {

using quota::v1::Holding;
using quota::v1::QuotaService;
using quota::v1::SyncHoldingRequest;
using quota::v1::SyncHoldingResponse;
using quota::v1::WatchQuotasRequest;
using quota::v1::WatchQuotasResponse;
using SteadyClock = std::chrono::steady_clock;
using Watches = OpenWatches<QuotaService, WatchQuotasRequest, WatchQuotasResponse>;

constexpr char kQuota[] = "organizations/bench-lag/quotas/US-EAST-04A~gd-8xa100-i128~default";
constexpr int kRate = 1'000;  // changes a second
constexpr int kWatches = 100;
constexpr int kCallers = 64;  // more than are ever under way

float MillisecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<float, std::milli>(SteadyClock::now() - begin).count();
}

// The changes of one measurement: when each was asked for, by its generation, and how late it was
// seen. Thread-safe.
class Changes {
 public:
  Changes(int64_t first_generation, size_t count) : first_(first_generation), sent_(count) {}

  // Notes that a change is sent now, and returns its generation.
  int64_t Send() {
    const size_t number = next_.fetch_add(1);
    sent_[number].store(SteadyClock::now());
    return first_ + static_cast<int64_t>(number);
  }
  // A watcher saw a message; ignored if it is of none of these changes.
  void See(const WatchQuotasResponse& message) {
    const std::optional<float> own = LagOf(message);
    std::vector<float> lags;
    if (own) lags.push_back(*own);
    for (const WatchQuotasResponse& next : message.bundle()) {
      if (const std::optional<float> lag = LagOf(next)) lags.push_back(*lag);
    }
    if (lags.empty()) return;
    MutexLock lock(mutex_);
    seen_ms_.insert(seen_ms_.end(), lags.begin(), lags.end());
    if (seen_ms_.size() == sent_.size() * kWatches) all_.Signal();
  }
  void Answered(float latency_ms) {
    MutexLock lock(mutex_);
    answered_ms_.push_back(latency_ms);
  }
  // Waits until every watch has seen every change. False: not within the patience.
  bool AwaitAll() {
    const auto end = SteadyClock::now() + std::chrono::seconds(10);
    MutexLock lock(mutex_);
    while (seen_ms_.size() < sent_.size() * kWatches) {
      if (SteadyClock::now() > end) return false;
      all_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return true;
  }
  std::vector<float> seen_ms() const {
    MutexLock lock(mutex_);
    return seen_ms_;
  }
  std::vector<float> answered_ms() const {
    MutexLock lock(mutex_);
    return answered_ms_;
  }

 private:
  std::optional<float> LagOf(const WatchQuotasResponse& message) const {
    if (message.type() != type::v1::WATCH_EVENT_TYPE_CHANGED || !message.has_holding())
      return std::nullopt;
    const int64_t number = message.holding().generation() - first_;
    if (number < 0 || number >= static_cast<int64_t>(sent_.size())) return std::nullopt;
    return MillisecondsSince(sent_[static_cast<size_t>(number)].load());
  }

  const int64_t first_;
  std::vector<std::atomic<SteadyClock::time_point>> sent_;
  std::atomic<size_t> next_ = 0;
  mutable Mutex mutex_;
  CondVar all_;
  std::vector<float> seen_ms_ MUSTER_GUARDED_BY(mutex_);
  std::vector<float> answered_ms_ MUSTER_GUARDED_BY(mutex_);
};

// Callers that have no call under way. Thread-safe.
class Idlers {
 public:
  void Put(size_t caller) {
    MutexLock lock(mutex_);
    idle_.push_back(caller);
    put_.Signal();
  }
  // Waits until there is one, and takes it.
  size_t Take() {
    MutexLock lock(mutex_);
    while (idle_.empty()) put_.Wait(mutex_);
    const size_t caller = idle_.back();
    idle_.pop_back();
    return caller;
  }

 private:
  Mutex mutex_;
  CondVar put_;
  std::vector<size_t> idle_ MUSTER_GUARDED_BY(mutex_);
};

// One that holds and releases as it is told to.
class Writer final : public Listener {
 public:
  Writer(Connection& connection, size_t number, Changes& changes, Idlers& idlers)
      : number_(number), changes_(changes), idlers_(idlers) {
    caller_ = MakeCaller<QuotaService, SyncHoldingRequest, SyncHoldingResponse>(
        connection, &QuotaService::Stub::PrepareAsyncSyncHolding,
        [this](SyncHoldingRequest& request) {
          const int64_t generation = changes_.Send();
          request.mutable_holding()->set_name(absl::StrCat(kQuota, "/holdings/lag-", number_));
          request.mutable_holding()->set_nodes(generation % 2);
          request.mutable_holding()->set_generation(generation);
        },
        [](const SyncHoldingResponse&) { return Outcome{}; });
    idlers_.Put(number_);
  }

  void Write() {
    begin_ = SteadyClock::now();
    caller_->Issue(*this);
  }
  void Answered(const Outcome&) override {
    changes_.Answered(MillisecondsSince(begin_));
    idlers_.Put(number_);
  }

 private:
  const size_t number_;
  Changes& changes_;
  Idlers& idlers_;
  SteadyClock::time_point begin_;
  std::unique_ptr<Caller> caller_;
};

// Watches of everything that quota has, each on a connection of its own.
Watches::Options WatchesOf(const std::string& target, Changes& changes) {
  return {.target = target,
          .count = kWatches,
          .each_connection = 1,
          .start = [](QuotaService::Stub& stub, auto* context, const auto* request,
                      auto* reactor) { stub.async()->WatchQuotas(context, request, reactor); },
          .request =
              [](int) {
                WatchQuotasRequest request;
                request.mutable_start()->set_bundle(true);
                return request;
              },
          .seen = [&changes](const WatchQuotasResponse& message) { changes.See(message); }};
}

// The latency is the time from sending the call that makes a change until a watcher sees the
// change: not less than the time since its commit.
absl::StatusOr<Rate> Measure(const Connections& connections, const std::string& target,
                             absl::Duration duration, CpuMeter& meter) {
  const auto count = static_cast<size_t>(kRate * absl::ToInt64Seconds(duration));
  Changes changes(FirstGeneration(), count);
  Idlers idlers;
  std::vector<std::unique_ptr<Writer>> writers;
  for (size_t i = 0; i < kCallers; ++i)
    writers.push_back(std::make_unique<Writer>(connections.Of(i), i, changes, idlers));
  const Watches watches(WatchesOf(target, changes));
  meter.Begin();
  const auto begin = SteadyClock::now();
  for (size_t i = 0; i < count; ++i) {
    std::this_thread::sleep_until(begin + i * std::chrono::seconds(1) / kRate);
    writers[idlers.Take()]->Write();
  }
  const absl::Duration took = absl::FromChrono(SteadyClock::now() - begin);
  const bool all = changes.AwaitAll();
  for (size_t i = 0; i < kCallers; ++i) (void)idlers.Take();
  meter.End();
  std::vector<float> seen = changes.seen_ms();
  const size_t unseen = count * kWatches - seen.size();
  Rate rate = RateOf(static_cast<int64_t>(count), 0, took, std::move(seen));
  if (!all) rate.failed = static_cast<int64_t>(1 + unseen / kWatches);
  const Rate written = RateOf(0, 0, took, changes.answered_ms());
  rate.also = {{"write_p50_ms", written.p50_ms}, {"write_p99_ms", written.p99_ms}};
  return rate;
}

}  // namespace

std::vector<Work> WatchLagWorks(const Connections& connections, const std::string& target) {
  Work work{"watch_lag_1000"};
  work.set_up = [&connections] {
    const auto stub = QuotaService::NewStub(connections.Of(0).channel());
    quota::v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(kQuota);
    request.mutable_quota()->set_limit(1'000'000);
    request.set_allow_missing(true);
    return Ask(*stub, &QuotaService::Stub::UpdateQuota, request).status();
  };
  work.measure = [&connections, target](absl::Duration duration, CpuMeter& meter) {
    return Measure(connections, target, duration, meter);
  };
  return {work};
}

}  // namespace muster::bench
