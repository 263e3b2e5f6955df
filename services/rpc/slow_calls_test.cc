#include "services/rpc/slow_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/rpc/testing/fake_lane.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "tests/testing/patience.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;

// A server whose GetQuota is a slow call, in the turn that its name says: it waits until the test
// lets it go, then says which answer it is.
class SlowCallsTest : public ::testing::Test {
 protected:
  using Answer = std::future<absl::StatusOr<int64_t>>;

  void Serve(const SlowCallsOptions& options) {
    calls_ = std::make_unique<SlowCalls>(options);
    server_.service.get = [this](grpc::CallbackServerContext* context,
                                 const v1::GetQuotaRequest* request, v1::Quota* response) {
      return Unary(context, [&](Responder responder) {
        uint64_t turn = 0;
        (void)absl::SimpleAtoi(request->name(), &turn);
        calls_->AddInTurn(turn, std::move(responder), [this, response](Responder& waiting) {
          const int64_t answer = Begin();
          if (throws_) throw std::runtime_error("out of cheese");
          waiting.Reply([&] { response->set_limit(answer); });
        });
      });
    };
  }
  // One that is under way on a thread of its own.
  Answer Ask(int turn = 1, absl::Duration timeout = absl::Seconds(30)) {
    return std::async(std::launch::async, [this, turn, timeout]() -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const v1::Quota quota, GetQuota(*server_.stub, absl::StrCat(turn), timeout));
      return quota.limit();
    });
  }
  void AwaitBegun(int64_t count) {
    MutexLock lock(mutex_);
    while (begun_ < count) changed_.Wait(mutex_);
  }
  void LetAllGo() {
    MutexLock lock(mutex_);
    let_go_ = true;
    changed_.SignalAll();
  }
  int64_t begun() {
    MutexLock lock(mutex_);
    return begun_;
  }
  void AwaitWaiting(size_t count) {
    testing::Until([&] { return calls_->waiting() >= count; }, "calls in line");
  }

  // While another is under way, one that is in line until its time is over, for its caller and for
  // the server.
  void LetOneExpireInLine() {
    Answer late = Ask(1, absl::Seconds(3));  // by then it is in line
    AwaitWaiting(1);
    EXPECT_EQ(late.get().status().code(), absl::StatusCode::kDeadlineExceeded);
    const auto is_answered = [this] {
      return absl::StrContains(server_.metrics.Text(),
                               "grpc_method=\"GetQuota\",grpc_code=\"DeadlineExceeded\"} 1");
    };
    testing::Until(is_answered, "the server's own answer");
  }

  std::atomic<bool> throws_ = false;
  CaughtLog log_;
  FakeServer server_;
  std::unique_ptr<SlowCalls> calls_;

 private:
  int64_t Begin() {
    MutexLock lock(mutex_);
    const int64_t mine = ++begun_;
    changed_.SignalAll();
    while (!let_go_) changed_.Wait(mutex_);
    return mine;
  }

  Mutex mutex_;
  CondVar changed_;
  int64_t begun_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool let_go_ MUSTER_GUARDED_BY(mutex_) = false;
};

TEST_F(SlowCallsTest, AreAnsweredOneAfterTheOther) {
  Serve({.threads = 1});
  LetAllGo();
  EXPECT_EQ(*Ask().get(), 1);
  EXPECT_EQ(*Ask().get(), 2);
}

TEST_F(SlowCallsTest, NobodyHasMoreThanHisShareAndOthersHaveTheirTurn) {
  Serve({.threads = 1, .most = 9, .most_of_a_caller = 2});
  Answer first = Ask(1);
  AwaitBegun(1);
  Answer second = Ask(1);
  Answer third = Ask(1);
  AwaitWaiting(2);
  const absl::Status refused = Ask(1).get().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(error::DetailOf(refused).has_value());
  EXPECT_EQ(error::ReasonOf(refused), "TOO_MANY_CALLS");
  EXPECT_EQ(error::DetailOf(refused)->retry_after, absl::Seconds(1));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Of you, or of your organization, 2"));
  Answer others = Ask(2);
  Answer another = Ask(2);
  AwaitWaiting(4);
  EXPECT_TRUE(absl::IsResourceExhausted(Ask(2).get().status()));
  LetAllGo();
  EXPECT_EQ(*first.get(), 1);
  EXPECT_EQ(*second.get() + *third.get(), 2 + 4) << "in turns with the other caller's";
  EXPECT_EQ(*others.get() + *another.get(), 3 + 5);
}

TEST_F(SlowCallsTest, AllTogetherAreBoundedButForTheProcessItself) {
  Serve({.threads = 1, .most = 2, .most_of_a_caller = 9});
  Answer first = Ask(1);
  AwaitBegun(1);
  Answer second = Ask(2);
  Answer third = Ask(3);
  AwaitWaiting(2);
  const absl::Status refused = Ask(4).get().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Of all callers, 2"));
  Answer own = Ask(0);
  AwaitWaiting(3);
  LetAllGo();
  for (Answer* answer : {&first, &second, &third, &own}) EXPECT_TRUE(answer->get().ok());
}

TEST_F(SlowCallsTest, WhatNobodyWaitsForIsNotBegun) {
  Serve({.threads = 1});
  Answer first = Ask();
  AwaitBegun(1);
  LetOneExpireInLine();
  LetAllGo();
  EXPECT_EQ(*first.get(), 1);
  EXPECT_EQ(*Ask().get(), 2) << "the second was not begun";
}

TEST_F(SlowCallsTest, WhatNobodyWaitsForMakesRoom) {
  Serve({.threads = 1, .most = 1, .most_of_a_caller = 1});
  Answer first = Ask();
  AwaitBegun(1);
  LetOneExpireInLine();
  EXPECT_EQ(Ask(1, absl::Seconds(3)).get().status().code(), absl::StatusCode::kDeadlineExceeded)
      << "it was taken, and waited";
  LetAllGo();
  EXPECT_EQ(*first.get(), 1);
}

TEST_F(SlowCallsTest, ShareTheirCoreWithAllSlowWorkOfTheProcess) {
  const auto cpu = std::make_shared<CpuShare>();
  const CpuStretch elsewhere(cpu.get());
  Serve({.threads = 2, .cpu = cpu});
  Answer first = Ask();
  Answer second = Ask();
  AwaitBegun(2);
  EXPECT_EQ(cpu->at_it(), 3);
  LetAllGo();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  calls_->Stop();
  EXPECT_EQ(cpu->at_it(), 1);
}

TEST_F(SlowCallsTest, AnExceptionEndsItsCallAlone) {
  Serve({.threads = 1});
  LetAllGo();
  throws_ = true;
  EXPECT_EQ(Ask().get().status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(log_.text(), HasSubstr("out of cheese"));
  throws_ = false;
  EXPECT_EQ(*Ask().get(), 2);
}

TEST_F(SlowCallsTest, StopAnswersWhatWaitsAndWhatComes) {
  Serve({.threads = 1});
  Answer first = Ask();
  AwaitBegun(1);
  Answer second = Ask();
  std::thread stop([&] { calls_->Stop(); });
  EXPECT_EQ(second.get().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Ask().get().status().code(), absl::StatusCode::kUnavailable);
  LetAllGo();
  EXPECT_EQ(*first.get(), 1);
  stop.join();
  EXPECT_EQ(begun(), 1);
}

// ReadSlowly, of a lane without a database.
class ReadSlowlyTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::Quota> Get(const std::string& name) {
    server_.service.get = [this](grpc::CallbackServerContext* context,
                                 const v1::GetQuotaRequest* asked, v1::Quota* out) {
      return ReadSlowly(
          context, calls_, lane_, *asked, out,
          [](const v1::GetQuotaRequest& request, error::Faults& faults) {
            faults.Require(request.name() != "bad", "name", "must be good.");
            return std::string(request.name());
          },
          [](const Orchard& state, int64_t revision, const std::string& wanted,
             v1::Quota& told) -> absl::Status {
            const Fruit* fruit = state.table<Fruit>().Find(wanted);
            told.set_name("what is not said");
            if (fruit == nullptr) return error::NotFound(wanted);
            told.set_limit(fruit->weight);
            told.set_etag(absl::StrCat(revision));
            return absl::OkStatus();
          });
    };
    return GetQuota(*server_.stub, name);
  }

  FakeLane<Orchard> lane_;
  const std::shared_ptr<SlowCalls> calls_ = std::make_shared<SlowCalls>(SlowCallsOptions());
  FakeServer server_;
};

TEST_F(ReadSlowlyTest, AnswersFromMemory) {
  StagedState<Orchard> staged(lane_.state, 0);
  staged.Put(Fruit{"fig", 7});
  lane_.revision = staged.revision();
  const auto fig = Get("fig");
  ASSERT_TRUE(fig.ok()) << fig.status();
  EXPECT_EQ(fig->limit(), 7);
  EXPECT_EQ(fig->etag(), absl::StrCat(lane_.revision));
}

TEST_F(ReadSlowlyTest, SaysWhatIsWrong) {
  EXPECT_EQ(Get("bad").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Get("none").status().code(), absl::StatusCode::kNotFound);
  lane_.lost = error::Unavailable("The database is away.");
  EXPECT_EQ(Get("fig").status().code(), absl::StatusCode::kUnavailable);
  calls_->Stop();
  lane_.lost = absl::OkStatus();
  EXPECT_EQ(Get("fig").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::rpc
