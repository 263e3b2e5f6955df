// What is logged and traced of a call.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "services/common/error.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/unary.h"
#include "services/trace/span.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;
using Context = grpc::CallbackServerContext*;

class KeptSpans final : public trace::Recorder {
 public:
  KeptSpans() { trace::SetRecorder(this, 1); }
  ~KeptSpans() override { trace::SetRecorder(nullptr, 0); }
  void Record(trace::Span span) override {
    MutexLock lock(mutex_);
    spans_.push_back(std::move(span));
  }
  std::vector<trace::Span> spans() {
    MutexLock lock(mutex_);
    return spans_;
  }

 private:
  Mutex mutex_;
  std::vector<trace::Span> spans_ MUSTER_GUARDED_BY(mutex_);
};

class CallLogTest : public ::testing::Test {
 protected:
  // The RPC does what `handle` does with its Responder and its response.
  void Handle(std::function<void(Responder, v1::Quota*)> handle) {
    server_.service.get = [handle](Context context, const v1::GetQuotaRequest*,
                                   v1::Quota* response) {
      return Unary(context, [&](Responder responder) { handle(std::move(responder), response); });
    };
  }
  absl::Status Get() {
    v1::Quota response;
    grpc::ClientContext context;
    return FromGrpcStatus(server_.stub->GetQuota(&context, {}, &response));
  }

  CaughtLog log_;
  FakeServer server_;
};

TEST_F(CallLogTest, ACallIsASpanOfItsCallerAndOneOfItsServer) {
  Handle([](Responder responder, v1::Quota*) { responder.Finish(error::NotFound("a")); });
  KeptSpans kept;
  EXPECT_EQ(Get().code(), absl::StatusCode::kNotFound);
  const std::vector<trace::Span> spans = kept.spans();
  ASSERT_EQ(spans.size(), 2u);
  const bool server_first = spans[0].kind == trace::SpanKind::kServer;
  const trace::Span& server = spans[server_first ? 0 : 1];
  const trace::Span& client = spans[server_first ? 1 : 0];
  EXPECT_EQ(client.kind, trace::SpanKind::kClient);
  EXPECT_EQ(client.parent_span_id, 0u);
  EXPECT_TRUE(client.failed);
  EXPECT_EQ(server.context.TraceId(), client.context.TraceId());
  EXPECT_EQ(server.parent_span_id, client.context.span_id);
  EXPECT_FALSE(server.failed) << "it is the caller's mistake";
  for (const trace::Span& span : {client, server}) {
    EXPECT_EQ(span.name, "muster.quota.v1.QuotaService/GetQuota");
    std::map<std::string, std::string> attributes;
    for (const trace::Attribute& attribute : span.attributes) {
      const auto* text = std::get_if<std::string>(&attribute.value);
      attributes[attribute.key] =
          text != nullptr ? *text : std::to_string(std::get<int64_t>(attribute.value));
    }
    EXPECT_EQ(attributes["rpc.system"], "grpc");
    EXPECT_EQ(attributes["rpc.service"], "muster.quota.v1.QuotaService");
    EXPECT_EQ(attributes["rpc.method"], "GetQuota");
    EXPECT_EQ(attributes["rpc.grpc.status_code"], "5");
  }
}

TEST_F(CallLogTest, WhatIsNoTraceparentBeginsATrace) {
  CallInfo seen;
  Handle([&](Responder responder, v1::Quota*) {
    seen = responder.info();
    responder.Finish(absl::OkStatus());
  });
  v1::Quota response;
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "00-garbage-01");
  // A stranger's channel: ours sends a good one.
  const auto plain = v1::QuotaService::NewStub(
      grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials()));
  EXPECT_TRUE(plain->GetQuota(&context, {}, &response).ok());
  EXPECT_TRUE(seen.trace.valid());
  EXPECT_EQ(seen.parent_span_id, 0u);
}

TEST_F(CallLogTest, ReadsAreNotLoggedButTheirFailuresAre) {
  Handle([](Responder responder, v1::Quota*) { responder.Finish(absl::OkStatus()); });
  EXPECT_TRUE(Get().ok());
  // Whoever applies asks first whether it is there.
  Handle([](Responder responder, v1::Quota*) { responder.Finish(error::NotFound("a")); });
  EXPECT_FALSE(Get().ok());
  EXPECT_EQ(log_.text(), "");
  Handle([](Responder responder, v1::Quota*) { responder.Finish(absl::UnavailableError("away")); });
  EXPECT_FALSE(Get().ok());
  EXPECT_THAT(log_.text(), HasSubstr(R"("level":"warn","msg":"call handled")"));
}

TEST_F(CallLogTest, AMutationIsOneLineThatSaysWhoAndWhat) {
  server_.service.create = [](Context context, const v1::CreateQuotaRequest*, v1::Quota*) {
    return Unary(context, [](Responder responder) { responder.Finish(absl::OkStatus()); });
  };
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server_.address()));
  v1::CreateQuotaRequest request;
  request.set_parent("organizations/acme\n{\"level\":\"error\"}");
  v1::Quota response;
  {
    grpc::ClientContext context;
    EXPECT_TRUE(stub->CreateQuota(&context, request, &response).ok());
  }
  const std::string line = log_.text();
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  for (const char* part :
       {R"("level":"info","msg":"call handled")", R"(QuotaService/CreateQuota","code":"OK",)",
        R"("duration_ms":)", R"("request_id":")", R"("trace_id":")", R"("user_agent":"rpc_test/)",
        R"("principal":"local")", R"("peer":")",
        R"("resource":"organizations/acme\n{\"level\":\"error\"}")"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  // One that is only tried changes nothing.
  request.set_validate_only(true);
  grpc::ClientContext context;
  EXPECT_TRUE(stub->CreateQuota(&context, request, &response).ok());
  EXPECT_EQ(log_.text(), line);
}

}  // namespace
}  // namespace muster::rpc
