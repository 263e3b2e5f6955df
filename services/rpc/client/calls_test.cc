#include "services/rpc/client/calls.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/latch.h"
#include "services/common/stopper.h"

namespace muster::rpc {
namespace {

namespace v1 = quota::v1;
using Stub = v1::QuotaService::Stub;

// Answers a Quota of the name that is asked for; of none never.
class FakeServer final : public v1::QuotaService::Service {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::unique_ptr<Stub> NewStub() {
    return v1::QuotaService::NewStub(MakeChannel(absl::StrCat("127.0.0.1:", port_)));
  }
  void AwaitCall() { called_.Wait(); }

  grpc::Status GetQuota(grpc::ServerContext* context, const v1::GetQuotaRequest* request,
                        v1::Quota* response) override {
    called_.Set(true);
    Stopper poll;
    while (request->name().empty() && !context->IsCancelled()) poll.Sleep(absl::Milliseconds(1));
    if (request->name() == "none") return {grpc::StatusCode::NOT_FOUND, "none"};
    response->set_name(request->name());
    return grpc::Status::OK;
  }

 private:
  int port_ = 0;
  Awaited<bool> called_;
  std::unique_ptr<grpc::Server> server_;
};

v1::GetQuotaRequest Named(const std::string& name) {
  v1::GetQuotaRequest request;
  request.set_name(name);
  return request;
}

constexpr absl::Duration kLong = absl::Hours(1);

TEST(CallsTest, BringsTheAnswerOrTheServersError) {
  FakeServer server;
  const auto stub = server.NewStub();
  Calls calls;
  const auto answer = calls.Call(kLong, *stub, &Stub::GetQuota, Named("a"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->name(), "a");
  EXPECT_EQ(calls.Call(kLong, *stub, &Stub::GetQuota, Named("none")).status(),
            absl::NotFoundError("none"));
  EXPECT_EQ(Call(kLong, *stub, &Stub::GetQuota, Named("none")).status(),
            absl::NotFoundError("none"));
}

TEST(CallsTest, EndsWhatIsUnderWayAndWhatComes) {
  FakeServer server;
  const auto stub = server.NewStub();
  Calls calls;
  absl::Status status;
  std::thread caller(
      [&] { status = calls.Call(kLong, *stub, &Stub::GetQuota, Named("")).status(); });
  server.AwaitCall();
  calls.Stop();
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(calls.Call(kLong, *stub, &Stub::GetQuota, Named("a")).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(CallsTest, WaitsNoLongerThanItMay) {
  FakeServer server;
  const auto stub = server.NewStub();
  EXPECT_EQ(Call(absl::Milliseconds(1), *stub, &Stub::GetQuota, Named("")).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

// Listens, and answers whoever connects only when a while has gone by: one that is far away, or has
// much else to do.
class LateServer final : public v1::QuotaService::Service {
 public:
  explicit LateServer(absl::Duration while_gone)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    thread_ = std::thread([this, while_gone] {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      absl::SleepFor(while_gone);
      grpc::AddInsecureChannelFromFd(server_.get(), connection);
    });
  }
  ~LateServer() override {
    thread_.join();
    server_->Shutdown();
    close(listener_);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", ntohs(address_.sin_port)); }

  grpc::Status GetQuota(grpc::ServerContext*, const v1::GetQuotaRequest*, v1::Quota*) override {
    return grpc::Status::OK;
  }

 private:
  const int listener_;
  sockaddr_in address_ = {};
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

TEST(CallsTest, AServerThatIsSlowToAnswerAConnectionIsNotGivenUpAtOnce) {
  LateServer server(absl::Milliseconds(500));
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  EXPECT_EQ(Call(kLong, *stub, &Stub::GetQuota, Named("a")).status(), absl::OkStatus());
}

}  // namespace
}  // namespace muster::rpc
