// Calls that wait for their turn behind others of their caller, through a server: they are answered
// in order, by their deadline, and when the server stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/debug/v1/debug_service.grpc.pb.h>

#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/access/policy_file.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/unary.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_folder.h"

namespace muster::rpc {
namespace {

using ::muster::testing::Await;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FakeDebugService final : public debug::v1::DebugService::CallbackService {
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context,
                                 const debug::v1::PingRequest*, debug::v1::PingResponse*) override {
    return Unary(context, [](Responder responder) { responder.Finish(absl::OkStatus()); });
  }
};

// One call of a caller is at work at a time.
class CallerLineTest : public ::testing::Test {
 protected:
  CallerLineTest() : CallerLineTest(nullptr) {}
  explicit CallerLineTest(const access::PolicyFile* policy, absl::Duration grace = absl::Minutes(1))
      : grace_(grace), guard_(policy, {.running_calls = 1}, nullptr, nullptr, &clock_) {
    server_.service.get = [this](grpc::CallbackServerContext* context,
                                 const v1::GetQuotaRequest* request, v1::Quota*) {
      return Unary(context, [&](Responder responder) {
        MutexLock lock(mutex_);
        order_.push_back(request->name());
        at_work_.emplace(request->name(), std::move(responder));
        changed_.SignalAll();
      });
    };
  }
  ~CallerLineTest() override {
    MutexLock lock(mutex_);
    at_work_.clear();
  }

  std::future<absl::Status> Ask(const std::string& name,
                                absl::Duration time = absl::InfiniteDuration()) {
    OthersCall();
    return std::async(std::launch::async,
                      [this, name, time] { return GetQuota(*stub_, name, time).status(); });
  }
  // Whoever calls next is not alone.
  void OthersCall() {
    access::Caller other;
    other.principal = "other";
    auto place = guard_.Enter(other, CallerLimits::Kind::kCall);
    ASSERT_THAT(place.status(), IsOk());
    EXPECT_TRUE(guard_.limits().Begin(*place));
  }
  void AwaitWork(const std::string& name) {
    MutexLock lock(mutex_);
    while (!at_work_.contains(name)) changed_.Wait(mutex_);
  }
  void Finish(const std::string& name) {
    AwaitWork(name);
    MutexLock lock(mutex_);
    at_work_.extract(name).mapped().Finish(absl::OkStatus());
  }
  void AwaitWaiting(int64_t calls) {
    while (guard_.waiting() != calls) absl::SleepFor(absl::Milliseconds(1));
  }
  std::vector<std::string> order() {
    MutexLock lock(mutex_);
    return order_;
  }

  const absl::Duration grace_;  // of a server that stops
  FakeSteadyClock clock_;
  Guard guard_;
  FakeDebugService debug_;
  FakeServer server_{[this](ServerOptions& options) {
    options.guard = &guard_;
    options.services.push_back({debug::v1::DebugService::service_full_name(), &debug_});
    options.shutdown_grace = grace_;
  }};
  std::shared_ptr<grpc::Channel> channel_ = MakeChannel(server_.address());
  std::unique_ptr<v1::QuotaService::Stub> stub_ = v1::QuotaService::NewStub(channel_);
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Responder> at_work_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> order_ MUSTER_GUARDED_BY(mutex_);
};

TEST_F(CallerLineTest, CallsWaitInOrderUntilThoseBeforeThemAreAnswered) {
  auto first = Ask("1");
  AwaitWork("1");
  std::vector<std::future<absl::Status>> others;
  for (int64_t i = 1; i <= 3; ++i) {
    others.push_back(Ask(absl::StrCat(1 + i)));
    AwaitWaiting(i);
  }
  EXPECT_THAT(order(), ElementsAre("1"));
  for (const char* name : {"1", "2", "3", "4"}) Finish(name);
  EXPECT_THAT(Await(std::move(first), "the first"), IsOk());
  for (auto& other : others) EXPECT_THAT(Await(std::move(other), "one that waited"), IsOk());
  EXPECT_THAT(order(), ElementsAre("1", "2", "3", "4"));
  EXPECT_EQ(guard_.waiting(), 0);
}

// A policy that is replaced, before whatever goes by it.
struct HasPolicy {
  HasPolicy() {
    Write("everywhere: true");
    auto opened = access::PolicyFile::Create({.path = path, .interval = absl::Hours(1)});
    EXPECT_THAT(opened.status(), IsOk());
    policy = *std::move(opened);
  }
  void Write(absl::string_view scope) const {
    std::ofstream(path) << "bindings: [{role: viewer, principals: [local], " << scope << "}]";
  }

  testing::TempFolder folder = {};
  const std::string path = folder.Path("policy.yaml");
  std::unique_ptr<access::PolicyFile> policy = {};
};
class CallerLinePolicyTest : public HasPolicy, public CallerLineTest {
 protected:
  CallerLinePolicyTest() : CallerLineTest(policy.get()) {}
};

TEST_F(CallerLinePolicyTest, WhoMayNoMoreIsRefusedThoughItWaitedSinceItMight) {
  const std::string one = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
  const std::string two = "organizations/beta/quotas/RNO2A~gd-8xa100-i128~default";
  auto first = Ask(one);
  AwaitWork(one);
  auto second = Ask(two);
  AwaitWaiting(1);
  auto third = Ask(one + "2");
  AwaitWaiting(2);
  Write("organizations: [acme]");
  for (int looks = 0; looks < 2; ++looks) EXPECT_THAT(policy->Look(), IsOk());
  Finish(one);
  EXPECT_THAT(Await(std::move(first), "the first"), IsOk());
  EXPECT_THAT(Await(std::move(second), "the second"), StatusIs(absl::StatusCode::kNotFound));
  Finish(one + "2");
  EXPECT_THAT(Await(std::move(third), "the third"), IsOk());
  EXPECT_THAT(order(), ElementsAre(one, one + "2"));
}

TEST_F(CallerLineTest, OneWhoseDeadlinePassesInLineIsAnsweredAndNeverBegun) {
  auto first = Ask("1");
  AwaitWork("1");
  auto late = Ask("2", absl::Seconds(3));  // by then it is in line
  EXPECT_THAT(Await(std::move(late), "the answer"), StatusIs(absl::StatusCode::kDeadlineExceeded));
  AwaitWaiting(0);
  // The server's own answer, too.
  while (server_.metrics.Text().find(
             "grpc_method=\"GetQuota\",grpc_code=\"DeadlineExceeded\"} 1") == std::string::npos) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  auto third = Ask("3");
  AwaitWaiting(1);
  Finish("1");
  Finish("3");
  EXPECT_THAT(Await(std::move(third), "the third"), IsOk());
  EXPECT_THAT(order(), ElementsAre("1", "3"));
}

// Those that hang, hang; the others do not.
TEST_F(CallerLineTest, OneThatHangsHoldsTheOthersUpForAMomentOnly) {
  auto first = Ask("1");
  AwaitWork("1");
  auto second = Ask("2");
  AwaitWaiting(1);
  clock_.Advance(absl::Milliseconds(500));
  Finish("2");
  EXPECT_THAT(Await(std::move(second), "the second"), IsOk());
  Finish("1");
  EXPECT_THAT(Await(std::move(first), "the first"), IsOk());
}

TEST_F(CallerLineTest, WhatAsksForWhatIsWrongWaitsForNobody) {
  auto first = Ask("1");
  AwaitWork("1");
  OthersCall();
  grpc::ClientContext context;
  debug::v1::PingResponse response;
  EXPECT_TRUE(debug::v1::DebugService::NewStub(channel_)->Ping(&context, {}, &response).ok());
  Finish("1");
  EXPECT_THAT(Await(std::move(first), "the first"), IsOk());
}

TEST_F(CallerLineTest, AServerThatStopsBeginsNoneOfThem) {
  auto first = Ask("1");
  AwaitWork("1");
  auto second = Ask("2");
  AwaitWaiting(1);
  auto stop = std::async(std::launch::async, [this] { server_.server->Shutdown(); });
  // Nothing tells when it has begun to stop but that it takes no more.
  while (!absl::IsUnavailable(FromGrpcStatus([&] {
    grpc::ClientContext context;
    debug::v1::PingResponse response;
    return debug::v1::DebugService::NewStub(channel_)->Ping(&context, {}, &response);
  }()))) {
  }
  Finish("1");
  EXPECT_THAT(Await(std::move(first), "the first"), IsOk());
  EXPECT_THAT(Await(std::move(second), "the second"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopping")));
  Await(std::move(stop), "the end of the server");
  EXPECT_THAT(order(), ElementsAre("1"));
}

class ShortEndTest : public CallerLineTest {
 protected:
  ShortEndTest() : CallerLineTest(nullptr, absl::Milliseconds(200)) {}
};

TEST_F(ShortEndTest, AServerThatCannotWaitForTheFirstAnswersThoseInLineToo) {
  auto first = Ask("1");
  AwaitWork("1");
  auto second = Ask("2");
  AwaitWaiting(1);
  server_.server->Shutdown();
  EXPECT_THAT(Await(std::move(first), "the first"), StatusIs(absl::StatusCode::kUnknown));
  EXPECT_FALSE(Await(std::move(second), "the second").ok());
  EXPECT_EQ(guard_.waiting(), 0);
  EXPECT_THAT(order(), ElementsAre("1"));
}

}  // namespace
}  // namespace muster::rpc
