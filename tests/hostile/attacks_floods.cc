// More calls than a server can answer, by one caller who does not wait for answers.
#include <grpcpp/grpcpp.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/hostile/meter.h"
#include "tests/hostile/target.h"

namespace muster::testing {
namespace {

constexpr char kQuota[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
constexpr int kChannels = 4;
constexpr absl::Duration kDeadline = absl::Seconds(1);
// More than this many are not asked for at once: the flood's own memory.
constexpr int64_t kMostOpen = 100'000;

// A caller with connections of its own, whose calls are counted by what they were answered.
class Caller {
 public:
  enum class Rpc { kGetQuota, kSyncHolding };

  Caller(const MiniMuster& muster, const std::string& name, Rpc rpc) : rpc_(rpc) {
    for (int i = 0; i < kChannels; ++i)
      stubs_.push_back(quota::v1::QuotaService::NewStub(OwnChannel(muster, name)));
    get_.set_name(kQuota);
    sync_.mutable_holding()->set_name(absl::StrCat(kQuota, "/holdings/flood"));
    sync_.mutable_holding()->set_generation(1);
  }
  ~Caller() { Wait(); }

  // One more, without waiting for it; `then` is called when it is answered.
  void Ask(std::function<void()> then = {}) {
    auto call = std::make_shared<OneCall>();
    call->context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
    ++open_;
    const auto done = [this, call, then = std::move(then)](const grpc::Status& status) {
      Count(status.error_code());
      if (then) then();
      --open_;
    };
    auto& stub = *stubs_[static_cast<size_t>(asked_++ % kChannels)];
    if (rpc_ == Rpc::kGetQuota) {
      stub.async()->GetQuota(&call->context, &get_, &call->quota, done);
    } else {
      stub.async()->SyncHolding(&call->context, &sync_, &call->answer, done);
    }
  }
  void Wait() const {
    while (open_ > 0) absl::SleepFor(absl::Milliseconds(10));
  }
  // Answers with OK a second while `calls` are under way.
  double Peak(int calls, absl::Duration time) {
    std::atomic<bool> stop = false;
    const int64_t before = ok_;
    const absl::Time begin = absl::Now();
    std::function<void()> again = [&] {
      if (!stop) Ask(again);
    };
    for (int i = 0; i < calls; ++i) Ask(again);
    absl::SleepFor(time);
    const double rate =
        static_cast<double>(ok_ - before) / absl::ToDoubleSeconds(absl::Now() - begin);
    stop = true;
    Wait();
    return rate;
  }

  int64_t asked() const { return asked_; }
  int64_t ok() const { return ok_; }
  int64_t exhausted() const { return exhausted_; }
  int64_t late() const { return late_; }
  int64_t open() const { return open_; }

 private:
  struct OneCall {
    grpc::ClientContext context;
    quota::v1::Quota quota;
    quota::v1::SyncHoldingResponse answer;
  };
  void Count(grpc::StatusCode code) {
    if (code == grpc::StatusCode::OK) ++ok_;
    if (code == grpc::StatusCode::RESOURCE_EXHAUSTED) ++exhausted_;
    if (code == grpc::StatusCode::DEADLINE_EXCEEDED) ++late_;
  }

  const Rpc rpc_;
  std::vector<std::unique_ptr<quota::v1::QuotaService::Stub>> stubs_;
  quota::v1::GetQuotaRequest get_;
  quota::v1::SyncHoldingRequest sync_;
  std::atomic<int64_t> asked_ = 0;
  std::atomic<int64_t> open_ = 0;
  std::atomic<int64_t> ok_ = 0;
  std::atomic<int64_t> exhausted_ = 0;
  std::atomic<int64_t> late_ = 0;
};

// The flood comes from one thread of this process, which the neighbour is in too: it asks for no more than that thread can, and what
// the neighbour waits for is this process's queues as well.
void Flood(Target& target, Caller::Rpc rpc) {
  MiniMuster& muster = target.muster();
  Caller caller(muster, "flooder", rpc);
  const double peak = caller.Peak(512, absl::Seconds(3));
  double quiet = 0;
  {
    Neighbour neighbour(OwnChannel(muster));
    absl::SleepFor(absl::Seconds(3));
    quiet = absl::ToDoubleMilliseconds(neighbour.Percentile(0.99));
  }
  const int64_t asked = caller.asked(), ok = caller.ok(), exhausted = caller.exhausted(),
                late = caller.late();
  double rate = 0, beside = 0;
  int calls = 0, failed = 0;
  {
    Neighbour neighbour(OwnChannel(muster));
    const absl::Time begin = absl::Now();
    const absl::Time end = begin + absl::Seconds(5);
    while (absl::Now() < end) {
      if (caller.open() < kMostOpen) {
        caller.Ask();
      } else {
        absl::SleepFor(absl::Milliseconds(1));
      }
    }
    rate = static_cast<double>(caller.ok() - ok) / absl::ToDoubleSeconds(absl::Now() - begin);
    beside = absl::ToDoubleMilliseconds(neighbour.Percentile(0.99));
    calls = neighbour.calls();
    failed = neighbour.failed();
  }
  const int64_t flood = caller.asked() - asked;
  caller.Wait();
  const double after = caller.Peak(512, absl::Seconds(3));
  std::cout << absl::StrFormat(
      "  peak %.0f/s; flood of %.0f/s: %.0f OK/s (%.2f of the peak), %.0f%% told to wait, %.0f%% "
      "late; neighbour p99 %.1f -> %.1f ms, %d of %d failed; after it %.0f/s (%.2f)\n",
      peak, static_cast<double>(flood) / 5, rate, rate / peak,
      100.0 * static_cast<double>(caller.exhausted() - exhausted) / static_cast<double>(flood),
      100.0 * static_cast<double>(caller.late() - late) / static_cast<double>(flood), quiet, beside,
      failed, calls, after, after / peak);
  target.Expect(rate >= 0.8 * peak, absl::StrFormat("goodput %.2f of the peak", rate / peak));
  target.Expect(failed == 0, "a neighbour failed beside the flood");
  target.Expect(beside <= 3 * quiet, absl::StrFormat("neighbour p99 %.1f x", beside / quiet));
}

Attack FloodOf(const std::string& what, Caller::Rpc rpc, const std::vector<std::string>& flags) {
  MiniMuster::Options muster{.musterd_flags = flags, .audit_books = false, .tls = true};
  muster.callers = {"flooder"};
  for (const char* role : {"operator", "service"}) {
    muster.bindings.push_back(absl::StrCat(
        "- {role: ", role, ", principals: [\"spiffe://muster.test/flooder\"], everywhere: true}"));
  }
  return {.row = "9",
          .what = what,
          .load = {.bytes = int64_t{600} << 20, .cpu = absl::Seconds(60)},
          .run = [rpc](Target& target) { Flood(target, rpc); },
          .muster = muster,
          .outage = true};  // its neighbour is asked for within
}

}  // namespace

std::vector<Attack> FloodAttacks() {
  return {FloodOf("open loop of GetQuota by one caller", Caller::Rpc::kGetQuota, {}),
          FloodOf("the same, 500 calls under way", Caller::Rpc::kGetQuota,
                  {"--max_calls_per_caller=500"}),
          FloodOf("open loop of SyncHolding by one caller", Caller::Rpc::kSyncHolding, {}),
          FloodOf("the same, 500 calls under way", Caller::Rpc::kSyncHolding,
                  {"--max_calls_per_caller=500"})};
}

}  // namespace muster::testing
