#include "services/rpc/unary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;
using Context = grpc::CallbackServerContext*;

// A handed-over Responder, for a test that answers later.
class Parked {
 public:
  void Put(Responder responder) {
    MutexLock lock(mutex_);
    responders_.push_back(std::move(responder));
    changed_.SignalAll();
  }
  Responder Take() {
    MutexLock lock(mutex_);
    while (responders_.empty()) changed_.Wait(mutex_);
    Responder responder = std::move(responders_.back());
    responders_.pop_back();
    return responder;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Responder> responders_ MUSTER_GUARDED_BY(mutex_);
};

class UnaryTest : public ::testing::Test {
 protected:
  explicit UnaryTest(absl::Duration default_deadline = absl::Minutes(1))
      : server_([default_deadline](ServerOptions& options) {
          options.default_deadline = default_deadline;
          options.shutdown_grace = absl::ZeroDuration();
        }) {}

  // The RPC does what `handle` does with its Responder and its response.
  void Handle(std::function<void(Responder, v1::Quota*)> handle) {
    server_.service.get = [handle](Context context, const v1::GetQuotaRequest*,
                                   v1::Quota* response) {
      return Unary(context, [&](Responder responder) { handle(std::move(responder), response); });
    };
  }
  absl::Status Get(v1::Quota& response, grpc::ClientContext& context) {
    return FromGrpcStatus(server_.stub->GetQuota(&context, {}, &response));
  }
  absl::Status Get() {
    v1::Quota response;
    grpc::ClientContext context;
    return Get(response, context);
  }

  CaughtLog log_;
  FakeServer server_;
};

class UnaryDeadlineTest : public UnaryTest {
 protected:
  UnaryDeadlineTest() : UnaryTest(absl::Milliseconds(100)) {}
};

TEST_F(UnaryTest, AnswersFromTheHandler) {
  Handle([](Responder responder, v1::Quota* response) {
    response->set_limit(7);
    responder.Finish(absl::OkStatus());
  });
  v1::Quota response;
  grpc::ClientContext context;
  EXPECT_TRUE(Get(response, context).ok());
  EXPECT_EQ(response.limit(), 7);
}

TEST_F(UnaryTest, AnswersFromAnotherThread) {
  std::thread thread;
  Handle([&](Responder responder, v1::Quota* response) {
    thread = std::thread([responder = std::move(responder), response]() mutable {
      responder.Reply([&] { response->set_limit(8); });
    });
  });
  v1::Quota response;
  grpc::ClientContext context;
  EXPECT_TRUE(Get(response, context).ok());
  EXPECT_EQ(response.limit(), 8);
  thread.join();
}

TEST_F(UnaryTest, ErrorsArriveWithTheirDetails) {
  Handle([](Responder responder, v1::Quota*) {
    responder.Reply([] { return error::EtagMismatch("organizations/acme", "1", "2"); });
  });
  const absl::Status status = Get();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(error::DetailOf(status).has_value());
  EXPECT_EQ(error::ReasonOf(status), "ETAG_MISMATCH");
  EXPECT_EQ(error::DetailOf(status)->resource, "organizations/acme");
}

TEST_F(UnaryTest, AnExceptionBecomesInternalWithAnIdThatTheLogExplains) {
  Handle([](Responder, v1::Quota*) { throw std::runtime_error("out of cheese"); });
  const absl::Status status = Get();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), ::testing::Not(HasSubstr("cheese")));
  ASSERT_TRUE(error::DetailOf(status).has_value());
  const std::string id = error::DetailOf(status)->metadata.at("error_id");
  EXPECT_THAT(std::string(status.message()), HasSubstr(id));
  server_.server->Shutdown();  // the log line may come after the answer
  EXPECT_THAT(log_.text(), HasSubstr("out of cheese"));
  EXPECT_THAT(log_.text(), HasSubstr(id));
}

TEST_F(UnaryTest, AnExceptionInAReplyBecomesInternal) {
  Handle([](Responder responder, v1::Quota*) {
    responder.Reply([] { throw std::runtime_error("no cheese either"); });
  });
  EXPECT_EQ(Get().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(log_.text(), HasSubstr("no cheese either"));
}

TEST_F(UnaryTest, AThrownNumberBecomesInternal) {
  Handle([](Responder, v1::Quota*) { throw 5; });
  EXPECT_EQ(Get().code(), absl::StatusCode::kInternal);
}

TEST_F(UnaryTest, ADroppedResponderAnswersInternal) {
  Handle([](Responder, v1::Quota*) {});
  EXPECT_EQ(Get().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(log_.text(), HasSubstr("call dropped without an answer"));
}

TEST_F(UnaryTest, OnlyTheFirstAnswerCounts) {
  Handle([](Responder responder, v1::Quota* response) {
    responder.Finish(absl::AbortedError("first"));
    responder.Finish(absl::OkStatus());
    responder.Reply([&] { response->set_limit(1); });
  });
  EXPECT_EQ(Get().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Get().message(), "first");
}

TEST_F(UnaryTest, OfManyThreadsOneAnswers) {
  std::atomic<int> replies = 0;
  std::vector<std::thread> threads;
  Handle([&](Responder given, v1::Quota* response) {
    auto responder = std::make_shared<Responder>(std::move(given));
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&replies, responder, response] {
        responder->Reply([&] { response->set_limit(++replies); });
      });
    }
  });
  v1::Quota response;
  grpc::ClientContext context;
  EXPECT_TRUE(Get(response, context).ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(replies, 1);
  EXPECT_EQ(response.limit(), 1);
}

TEST_F(UnaryDeadlineTest, WithoutADeadlineTheServersOwnAnswers) {
  Parked parked;
  Handle([&](Responder responder, v1::Quota*) { parked.Put(std::move(responder)); });
  EXPECT_EQ(Get().code(), absl::StatusCode::kDeadlineExceeded);
  Responder late = parked.Take();
  EXPECT_LE(late.deadline(), NowForDeadlines());
  late.Reply([] { ADD_FAILURE() << "the response is gone"; });
  late.Finish(absl::OkStatus());
}

TEST_F(UnaryTest, TheClientsDeadlineIsTheCalls) {
  const absl::Time deadline = absl::Now() + absl::Hours(1);
  absl::Time seen;
  Handle([&](Responder responder, v1::Quota*) {
    seen = responder.deadline();
    responder.Finish(absl::OkStatus());
  });
  grpc::ClientContext context;
  PrepareCall(context, deadline);
  v1::Quota response;
  EXPECT_TRUE(Get(response, context).ok());
  EXPECT_LT(absl::AbsDuration(seen - deadline), absl::Seconds(30));
}

// What others send for "never".
TEST_F(UnaryTest, ADeadlineInThreeHundredYearsIsNoPastOne) {
  absl::Time seen;
  Handle([&](Responder responder, v1::Quota*) {
    seen = responder.deadline();
    responder.Finish(absl::OkStatus());
  });
  grpc::ClientContext context;
  const int64_t then = absl::ToUnixSeconds(absl::Now() + 300 * absl::Hours(365 * 24));
  context.set_deadline(gpr_timespec{then, 0, GPR_CLOCK_REALTIME});
  v1::Quota response;
  EXPECT_TRUE(Get(response, context).ok());
  EXPECT_GT(seen, absl::Now() + absl::Hours(1));
}

// Replies that race with the deadline: whoever wins, the call ends once, and nobody writes to a
// response that is gone (the address sanitizer would tell).
TEST_F(UnaryDeadlineTest, RepliesMayRaceWithTheDeadline) {
  Mutex mutex;
  std::vector<std::thread> repliers;
  Handle([&](Responder responder, v1::Quota* response) {
    MutexLock lock(mutex);
    repliers.emplace_back([responder = std::move(responder), response]() mutable {
      while (NowForDeadlines() < responder.deadline()) std::this_thread::yield();
      responder.Reply([&] { response->set_name(std::string(100, 'x')); });
    });
  });
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int j = 0; j < 3; ++j) {
        const absl::Status status = Get();
        EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kDeadlineExceeded) << status;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  for (std::thread& replier : repliers) replier.join();
}

TEST_F(UnaryTest, ARequestIdIsMadeAndReturned) {
  std::string seen;
  Handle([&](Responder responder, v1::Quota*) {
    seen = std::string(responder.request_id());
    responder.Finish(absl::OkStatus());
  });
  v1::Quota response;
  grpc::ClientContext context;
  EXPECT_TRUE(Get(response, context).ok());
  EXPECT_EQ(seen.size(), 15u);
  const auto& headers = context.GetServerInitialMetadata();
  ASSERT_EQ(headers.count("x-request-id"), 1u);
  EXPECT_EQ(headers.find("x-request-id")->second, seen);
}

TEST_F(UnaryTest, TheCallersIdsAreTakenOn) {
  CallInfo seen;
  TraceContext within;
  Handle([&](Responder responder, v1::Quota*) {
    seen = responder.info();
    within = CurrentTrace::Get();
    responder.Finish(absl::FailedPreconditionError("not now"));
  });
  const TraceContext trace =
      *TraceContext::Parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  const CurrentTrace scope(trace);
  v1::Quota response;
  grpc::ClientContext context;
  PrepareCall(context, absl::Seconds(60));
  context.AddMetadata("x-request-id", "caller-1");
  EXPECT_EQ(Get(response, context).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(seen.request_id, "caller-1");
  EXPECT_EQ(seen.trace.TraceId(), trace.TraceId());
  EXPECT_EQ(seen.parent_span_id, trace.span_id);
  EXPECT_NE(seen.trace.span_id, trace.span_id);
  EXPECT_EQ(seen.trace, within) << "what the handler does is of another trace";
  EXPECT_EQ(context.GetServerInitialMetadata().find("x-request-id")->second, "caller-1");
  EXPECT_THAT(log_.text(), HasSubstr(R"("request_id":"caller-1")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("trace_id":"0af7651916cd43dd8448eb211c80319c")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("code":"FailedPrecondition")"));
  EXPECT_THAT(log_.text(), HasSubstr(R"("method":"/muster.quota.v1.QuotaService/GetQuota")"));
}

TEST_F(UnaryTest, AnUnreasonableRequestIdIsReplaced) {
  Handle([](Responder responder, v1::Quota*) { responder.Finish(absl::OkStatus()); });
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", std::string(1000, 'x'));
  v1::Quota response;
  EXPECT_TRUE(Get(response, context).ok());
  EXPECT_EQ(context.GetServerInitialMetadata().find("x-request-id")->second.size(), 15u);
}

TEST_F(UnaryTest, CallsAreCounted) {
  const auto expect = [&](const char* line) {
    EXPECT_THAT(server_.metrics.Text(), HasSubstr(line));
  };
  Handle([](Responder responder, v1::Quota*) { responder.Finish(absl::OkStatus()); });
  EXPECT_TRUE(Get().ok());
  Handle([](Responder responder, v1::Quota*) { responder.Finish(error::NotFound("a")); });
  EXPECT_FALSE(Get().ok());
  const std::string labels =
      R"({grpc_type="unary",grpc_service="muster.quota.v1.QuotaService",grpc_method="GetQuota")";
  expect(("grpc_server_started_total" + labels + "} 2").c_str());
  expect(("grpc_server_msg_received_total" + labels + "} 2").c_str());
  expect(("grpc_server_msg_sent_total" + labels + "} 1").c_str());
  expect(("grpc_server_handled_total" + labels + R"(,grpc_code="OK"} 1)").c_str());
  expect(("grpc_server_handled_total" + labels + R"(,grpc_code="NotFound"} 1)").c_str());
  expect(("grpc_server_handled_total" + labels + R"(,grpc_code="Unavailable"} 0)").c_str());
  expect(("grpc_server_handling_seconds_count" + labels + "} 2").c_str());
}

// With UNKNOWN: what they asked for may be done already, or still come to pass. UNAVAILABLE would
// be the word that it was not and will not.
TEST_F(UnaryTest, AtTheEndOfTheServerUnansweredCallsAreAnswered) {
  Parked parked;
  Handle([&](Responder responder, v1::Quota*) { parked.Put(std::move(responder)); });
  std::thread client([&] {
    grpc::ClientContext context;
    PrepareCall(context, absl::Hours(1));
    v1::Quota response;
    const absl::Status status = Get(response, context);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
    const auto detail = error::DetailOf(status);
    EXPECT_FALSE(detail && detail->retry_after) << status;
  });
  Responder responder = parked.Take();
  server_.server->Shutdown();
  client.join();
  responder.Finish(absl::OkStatus());
}

}  // namespace
}  // namespace muster::rpc
