#include "services/rpc/refusal_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/limits.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/unary.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::Await;
using ::muster::testing::HasReason;

class RefusalPaceTest : public ::testing::Test {
 protected:
  // Refuses `caller` as often as is answered at once.
  void Exhaust(const std::string& caller) {
    for (int i = 0; i <= kRefusalsPerSecond; ++i)
      EXPECT_EQ(pace_.KeepBack(caller), absl::ZeroDuration()) << i;
  }

  FakeSteadyClock clock_;
  RefusalPace pace_{&clock_};
};

TEST_F(RefusalPaceTest, WhoIsRefusedMoreOftenHearsOfItLaterAndLater) {
  Exhaust("flood");
  EXPECT_EQ(pace_.kept_back(), 0);
  for (int i = 1; i < 500; ++i) EXPECT_EQ(pace_.KeepBack("flood"), absl::Milliseconds(i)) << i;
  EXPECT_EQ(pace_.kept_back(), 499);
  EXPECT_EQ(pace_.KeepBack("other"), absl::ZeroDuration());
}

TEST_F(RefusalPaceTest, NoRefusalIsKeptBackForLongerThanTheMost) {
  Exhaust("flood");
  for (int i = 0; i < 5'000; ++i) EXPECT_LE(pace_.KeepBack("flood"), kMostKeptBack);
  clock_.Advance(absl::Milliseconds(1'500));
  EXPECT_EQ(pace_.KeepBack("flood"), absl::ZeroDuration()) << "nor is it held against the next";
}

TEST_F(RefusalPaceTest, OnlySoManyAreKeptBack) {
  Exhaust("flood");
  while (pace_.KeepBack("flood") > absl::ZeroDuration()) {
  }
  EXPECT_EQ(pace_.kept_back(), kMostRefusalsKeptBack);
  pace_.Answered();
  EXPECT_GT(pace_.KeepBack("flood"), absl::ZeroDuration());
}

TEST_F(RefusalPaceTest, CallersWhoAreNotRefusedAnyMoreAreForgotten) {
  for (int i = 0; i < 5'000; ++i) {
    pace_.KeepBack(std::to_string(i));
    clock_.Advance(absl::Milliseconds(10));
  }
  EXPECT_LE(pace_.size(), 1'000u);
}

// Through a server whose callers may have one call under way.
class KeptBackTest : public ::testing::Test {
 protected:
  KeptBackTest() {
    server_.service.get = [this](grpc::CallbackServerContext* context, const v1::GetQuotaRequest*,
                                 v1::Quota*) {
      return Unary(context, [&](Responder responder) {
        MutexLock lock(mutex_);
        at_work_.emplace(std::move(responder));
        changed_.SignalAll();
      });
    };
    for (int i = 0; i <= 2 * kRefusalsPerSecond; ++i) {
      if (guard_.refusals().KeepBack("local") > absl::ZeroDuration()) guard_.refusals().Answered();
    }
  }
  ~KeptBackTest() override { Answer(); }

  void Answer() {
    MutexLock lock(mutex_);
    if (at_work_) at_work_->Finish(absl::OkStatus());
    at_work_.reset();
  }
  std::future<absl::Status> Ask(const std::string& name) {
    return std::async(std::launch::async, [this, name] { return GetQuota(*stub_, name).status(); });
  }
  // The one call that is let in.
  std::future<absl::Status> AskFirst() {
    auto first = Ask("first");
    MutexLock lock(mutex_);
    while (!at_work_) changed_.Wait(mutex_);
    return first;
  }
  void AwaitKeptBack(int64_t calls) {
    while (guard_.refusals().kept_back() != calls) absl::SleepFor(absl::Milliseconds(1));
  }

  FakeSteadyClock clock_;
  Guard guard_{nullptr, {.calls = 1}, nullptr, nullptr, &clock_};
  Mutex mutex_;
  CondVar changed_;
  std::optional<Responder> at_work_ MUSTER_GUARDED_BY(mutex_);
  FakeServer server_{[this](ServerOptions& options) {
    options.guard = &guard_;
    options.shutdown_grace = absl::ZeroDuration();
  }};
  std::shared_ptr<grpc::Channel> channel_ = MakeChannel(server_.address());
  std::unique_ptr<v1::QuotaService::Stub> stub_ = v1::QuotaService::NewStub(channel_);
};

TEST_F(KeptBackTest, ARefusalThatIsKeptBackIsAnsweredAllTheSame) {
  auto first = AskFirst();
  auto second = Ask("second");
  AwaitKeptBack(1);
  EXPECT_THAT(Await(std::move(second), "the refusal"), HasReason("TOO_MANY_CALLS"));
  EXPECT_EQ(guard_.refusals().kept_back(), 0);
  Answer();
  EXPECT_TRUE(Await(std::move(first), "the first").ok());
}

TEST_F(KeptBackTest, ALargeRequestIsRefusedAtOnce) {
  auto first = AskFirst();
  EXPECT_THAT(Await(Ask(std::string(2 * kMostBytesKeptBack, 'n')), "the refusal"),
              HasReason("TOO_MANY_CALLS"));
  EXPECT_EQ(guard_.refusals().kept_back(), 0);
  Answer();
  EXPECT_TRUE(Await(std::move(first), "the first").ok());
}

TEST_F(KeptBackTest, AServerThatEndsAnswersThemFirst) {
  auto first = AskFirst();
  auto second = Ask("second");
  AwaitKeptBack(1);
  server_.server->Shutdown();
  EXPECT_FALSE(Await(std::move(second), "the refusal").ok());
  EXPECT_EQ(guard_.refusals().kept_back(), 0);
}

}  // namespace
}  // namespace muster::rpc
