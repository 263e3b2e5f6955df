#include "services/rpc/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/message_allocator.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/unary.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::HasFieldViolation;
using ::testing::HasSubstr;
using ::testing::Not;

// The last of the answers is left in `response`.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request, std::string& response) {
  return muster::testing::CallRaw(channel, method, request, {.enough = [&](const auto& answer) {
                                    response = answer;
                                    return false;
                                  }});
}

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() { Answer(server_); }

  static void Answer(FakeServer& server) {
    server.service.get = [](grpc::CallbackServerContext* context, const v1::GetQuotaRequest*,
                            v1::Quota*) {
      return Unary(context, [](Responder responder) { responder.Finish(absl::OkStatus()); });
    };
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", server_.server->port()); }
  grpc::Status Get(const std::shared_ptr<grpc::Channel>& channel, const std::string& name = "") {
    grpc::ClientContext context;
    v1::GetQuotaRequest request;
    request.set_name(name);
    v1::Quota response;
    return v1::QuotaService::NewStub(channel)->GetQuota(&context, request, &response);
  }
  // "" or the answer of health: `\x08` and then 1 for SERVING, 2 for NOT_SERVING.
  std::string Health(const std::string& service) {
    std::string response;
    const std::string request =
        service.empty()
            ? ""
            : absl::StrCat("\n", std::string(1, static_cast<char>(service.size())), service);
    const grpc::Status status = CallRaw(server_.server->InProcessChannel(),
                                        "/grpc.health.v1.Health/Check", request, response);
    return status.ok() ? response : std::string(CodeName(status.error_code()));
  }

  FakeServer server_;
};

TEST_F(ServerTest, ServesOverTcpAndInProcess) {
  EXPECT_GT(server_.server->port(), 0);
  EXPECT_TRUE(Get(MakeChannel(address())).ok());
  EXPECT_TRUE(Get(server_.server->InProcessChannel()).ok());
}

TEST_F(ServerTest, HealthIsGivenFromOutside) {
  const std::string quota = v1::QuotaService::service_full_name();
  const std::string serving = "\x08\x01", not_serving = "\x08\x02";
  EXPECT_EQ(Health(""), not_serving);
  EXPECT_EQ(Health(quota), not_serving);
  EXPECT_EQ(Health("no.such.Service"), "NotFound");
  server_.server->SetServing(quota, true);
  EXPECT_EQ(Health(quota), serving);
  EXPECT_EQ(Health(""), not_serving);
  server_.server->SetAllServing(true);
  EXPECT_EQ(Health(""), serving);
  server_.server->SetAllServing(false);
  EXPECT_EQ(Health(quota), not_serving);
  EXPECT_EQ(Health(""), not_serving);
}

// Whoever ends a process that could not begin tells its servers so.
TEST(ServerThatCannotListenTest, SaysSoAndTakesWhatItIsToldThen) {
  Metrics metrics;
  Guard guard(nullptr);
  auto server = Server::Create(
      {.addresses = {"unix:/nowhere/muster.sock"}, .metrics = &metrics, .guard = &guard});
  ASSERT_TRUE(server.ok()) << server.status();
  const absl::Status status = (*server)->Start();
  EXPECT_EQ(status.message(), "Cannot listen on unix:/nowhere/muster.sock.");
  (*server)->SetAllServing(false);
  (*server)->Shutdown();
}

TEST_F(ServerTest, ReflectionNamesTheServices) {
  std::string response;
  const grpc::Status status = CallRaw(
      server_.server->InProcessChannel(),
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*", response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(response, HasSubstr("muster.quota.v1.QuotaService"));
  EXPECT_THAT(response, HasSubstr("grpc.health.v1.Health"));
}

TEST_F(ServerTest, EveryMethodIsCountedFromTheStart) {
  const std::string text = server_.metrics.Text();
  for (const char* method : {"GetQuota", "UpdateQuota", "SyncHolding", "BatchSyncHoldings", "Check",
                             "ServerReflectionInfo"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("grpc_method=\"", method, "\"} 0"))) << method;
    EXPECT_THAT(text, HasSubstr(absl::StrCat("grpc_method=\"", method, "\",grpc_code=\"OK\"} 0")));
    EXPECT_THAT(
        text, HasSubstr(absl::StrCat("grpc_method=\"", method, "\",grpc_code=\"Unavailable\"} 0")));
  }
  // How long its calls took is told from the first one on.
  EXPECT_THAT(text, Not(HasSubstr("grpc_server_handling_seconds_count")));
  Health("");
  const std::string after = server_.metrics.Text();
  EXPECT_THAT(after, HasSubstr("grpc_method=\"Check\",grpc_code=\"OK\"} 1"));
  EXPECT_THAT(after, HasSubstr("grpc_method=\"Check\",le=\"+Inf\"} 1"));
}

TEST_F(ServerTest, TooLargeAMessageIsRefusedAndTheServerLives) {
  const auto channel = MakeChannel(address());
  const grpc::Status status = Get(channel, std::string(kMaxReceiveBytes, 'x'));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("larger than max"));
  EXPECT_TRUE(Get(channel, std::string(kMaxStringBytes, 'x')).ok());
}

TEST_F(ServerTest, WhatIsOutOfBoundsReachesNoHandler) {
  const auto channel = MakeChannel(address());
  server_.service.get = nullptr;  // would throw
  const grpc::Status status = Get(channel, std::string(1 << 19, 'x'));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "name: has 524288 bytes; allowed are at most 16384.");
  EXPECT_THAT(FromGrpcStatus(status), HasFieldViolation("name"));
  // Of a stream too.
  std::string starts;
  for (int i = 0; i < kMaxEntries; ++i) starts += std::string("\x0a\x00", 2);
  std::string response;
  EXPECT_EQ(CallRaw(channel, "/muster.quota.v1.QuotaService/WatchQuotas", starts, response)
                .error_message(),
            "start: stands there more than once.");
  EXPECT_THAT(server_.metrics.Text(),
              HasSubstr("grpc_method=\"GetQuota\",grpc_code=\"InvalidArgument\"} 1"));
}

TEST(ClosedServerTest, WhatIsClosedIsRefusedAndReflectionIsLeftOut) {
  FakeServer server([](ServerOptions& options) {
    options.closed = {"/muster.quota.v1.QuotaService/GetQuota"};
    options.reflection = false;
  });
  const auto channel = server.server->InProcessChannel();
  std::string response;
  EXPECT_EQ(CallRaw(channel, "/muster.quota.v1.QuotaService/GetQuota", "", response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(CallRaw(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                    "\x3a\x01*", response)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

// As the listeners for probes.
TEST(HealthServerTest, AServerWithoutServicesServesHealthAlone) {
  Metrics metrics;
  auto server = Server::Create({.addresses = {"127.0.0.1:0"},
                                .metrics = &metrics,
                                .reflection = false,
                                .drain_delay = absl::ZeroDuration()});
  ASSERT_TRUE(server.ok()) << server.status();
  const absl::Status started = (*server)->Start();
  ASSERT_TRUE(started.ok()) << started;
  (*server)->SetServing("", true);
  const std::shared_ptr<grpc::Channel> channels[] = {
      MakeChannel(absl::StrCat("127.0.0.1:", (*server)->port())), (*server)->InProcessChannel()};
  for (const auto& channel : channels) {
    std::string response;
    EXPECT_TRUE(CallRaw(channel, "/grpc.health.v1.Health/Check", "", response).ok());
    EXPECT_EQ(response, "\x08\x01");
    for (const char* method : {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                               "/muster.quota.v1.QuotaService/GetQuota"}) {
      EXPECT_EQ(CallRaw(channel, method, "\x3a\x01*", response).error_code(),
                grpc::StatusCode::UNIMPLEMENTED)
          << method;
    }
  }
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("ServerReflectionInfo")));
  (*server)->Shutdown();
}

TEST_F(ServerTest, TooLargeHeadersAreRefusedAndTheServerLives) {
  // A connection of its own: gRPC may close it over this.
  grpc::ChannelArguments own;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), own);
  grpc::ClientContext context;
  context.AddMetadata("x-large", std::string(64 << 10, 'x'));
  v1::Quota response;
  EXPECT_FALSE(v1::QuotaService::NewStub(channel)->GetQuota(&context, {}, &response).ok());
  EXPECT_TRUE(Get(MakeChannel(address())).ok());
}

// Where a request is to be parsed into; without memory while it is `empty`.
class Messages final : public grpc::MessageAllocator<v1::GetQuotaRequest, v1::Quota> {
 public:
  grpc::MessageHolder<v1::GetQuotaRequest, v1::Quota>* AllocateMessages() override {
    if (empty) throw std::bad_alloc();
    return new Holder();
  }

  std::atomic<bool> empty = false;

 private:
  struct Holder final : grpc::MessageHolder<v1::GetQuotaRequest, v1::Quota> {
    Holder() {
      set_request(&own_request);
      set_response(&own_response);
    }
    void Release() override { delete this; }

    v1::GetQuotaRequest own_request;
    v1::Quota own_response;
  };
};

TEST(ServerWithoutMemoryTest, ARequestThatCannotBeKeptIsRefusedAndTheServerLives) {
  Messages messages;  // outlives the server
  FakeServer server;
  server.service.SetMessageAllocatorFor_GetQuota(&messages);
  std::atomic<int> handled = 0;
  server.service.get = [&](grpc::CallbackServerContext* context, const v1::GetQuotaRequest* request,
                           v1::Quota* response) {
    ++handled;
    response->set_name(request->name());
    return Unary(context, [](Responder responder) { responder.Finish(absl::OkStatus()); });
  };
  messages.empty = true;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(GetQuota(*server.stub, kOwnQuota).status(),
                muster::testing::StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(handled, 0);
  messages.empty = false;
  const auto quota = GetQuota(*server.stub, kOwnQuota);
  ASSERT_TRUE(quota.ok()) << quota.status();
  EXPECT_EQ(quota->name(), kOwnQuota);
  EXPECT_EQ(handled, 1);
  EXPECT_THAT(server.metrics.Text(),
              HasSubstr("grpc_method=\"GetQuota\",grpc_code=\"ResourceExhausted\"} 2"));
}

TEST_F(ServerTest, BytesThatAreNoMessageAreRefusedAndTheServerLives) {
  std::string response;
  const auto channel = MakeChannel(address());
  for (const std::string& garbage : {std::string("\xff\xff\xff\xff"), std::string(1000, '\x0b')}) {
    const grpc::Status status =
        CallRaw(channel, "/muster.quota.v1.QuotaService/GetQuota", garbage, response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("is no muster.quota.v1.GetQuotaRequest"));
  }
  EXPECT_EQ(CallRaw(channel, "/no.such.Service/Method", "", response).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(Get(channel).ok());
}

TEST_F(ServerTest, GarbageOnTheSocketDoesNotHurt) {
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(server_.server->port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    std::string garbage = i % 2 == 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
    for (int j = 0; j < 500; ++j) garbage += static_cast<char>(random());
    (void)send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    close(fd);
  }
  EXPECT_TRUE(Get(MakeChannel(address())).ok());
}

TEST_F(ServerTest, TwoServersDoNotShareAPort) {
  ServerOptions options;
  options.addresses = {address()};
  options.metrics = &server_.metrics;
  auto second = Server::Create(options).value();
  const absl::Status status = second->Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(address()));
}

TEST_F(ServerTest, OptionsAreChecked) {
  ServerOptions options;
  EXPECT_EQ(Server::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.metrics = &server_.metrics;
  EXPECT_TRUE(Server::Create(options).ok());
  options.services = {{"no.such.Service", &server_.service}};
  EXPECT_EQ(Server::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ServerTest, ShutdownLetsCallsUnderWayFinish) {
  Mutex mutex;
  CondVar changed;
  std::optional<Responder> parked;
  server_.service.get = [&](grpc::CallbackServerContext* context, const v1::GetQuotaRequest*,
                            v1::Quota*) {
    return Unary(context, [&](Responder responder) {
      MutexLock lock(mutex);
      parked.emplace(std::move(responder));
      changed.SignalAll();
    });
  };
  grpc::Status status;
  std::thread client([&] { status = Get(server_.server->InProcessChannel()); });
  {
    MutexLock lock(mutex);
    while (!parked) changed.Wait(mutex);
  }
  std::thread stop([&] { server_.server->Shutdown(); });
  parked->Finish(absl::OkStatus());
  stop.join();
  client.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  server_.server->Shutdown();
  server_.server->SetAllServing(true);
  EXPECT_EQ(Get(MakeChannel(address())).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Calls of many clients while the server goes: each gets an answer, and Shutdown comes back.
TEST_F(ServerTest, ShutdownUnderLoadEnds) {
  std::vector<std::thread> clients;
  const auto channel = MakeChannel(address());
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      while (Get(channel).ok()) {
      }
    });
  }
  server_.server->Shutdown();
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace muster::rpc
