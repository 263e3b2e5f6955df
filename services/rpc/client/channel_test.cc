#include "services/rpc/client/channel.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/unretried_channel.h"

namespace muster::rpc {
namespace {

namespace v1 = quota::v1;
using Stub = v1::QuotaService::Stub;

constexpr absl::Duration kAmple = absl::Minutes(5);

// Answers UNAVAILABLE so many times, then OK; counts all.
class FailingServer final : public v1::QuotaService::Service {
 public:
  FailingServer() {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus("", serving); }

  grpc::Status GetQuota(grpc::ServerContext*, const v1::GetQuotaRequest*, v1::Quota*) override {
    return Next();
  }
  grpc::Status SyncHolding(grpc::ServerContext*, const v1::SyncHoldingRequest*,
                           v1::SyncHoldingResponse*) override {
    return Next();
  }
  grpc::Status UpdateQuota(grpc::ServerContext*, const v1::UpdateQuotaRequest*,
                           v1::Quota*) override {
    return Next();
  }
  grpc::Status WatchQuotas(grpc::ServerContext*, const v1::WatchQuotasRequest*,
                           grpc::ServerWriter<v1::WatchQuotasResponse>*) override {
    return Next();
  }

  std::atomic<int> failures = 0;
  std::atomic<int> calls = 0;

 private:
  grpc::Status Next() {
    ++calls;
    if (failures-- > 0) return {grpc::StatusCode::UNAVAILABLE, "away"};
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(ChannelTest, RepeatsWhatIsSafeToRepeat) {
  FailingServer server;
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  server.failures = 1;
  EXPECT_TRUE(Call(kAmple, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).ok());
  EXPECT_EQ(server.calls, 2);
  server.failures = 1;
  EXPECT_TRUE(Call(kAmple, *stub, &Stub::SyncHolding, v1::SyncHoldingRequest()).ok());
  EXPECT_EQ(server.calls, 4);
}

TEST(ChannelTest, GivesUpAfterFourTimes) {
  FailingServer server;
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  server.failures = 100;
  EXPECT_EQ(Call(kAmple, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).status(),
            absl::UnavailableError("away"));
  EXPECT_EQ(server.calls, 4);
}

TEST(ChannelTest, HasABudgetForRepeatedCalls) {
  FailingServer server;
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  server.failures = 1000;
  constexpr int kCalls = 8;
  for (int i = 0; i < kCalls; ++i)
    EXPECT_FALSE(Call(kAmple, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).ok());
  // Ten failures of the twenty are for free; then every call is tried once.
  EXPECT_LT(server.calls, 4 * kCalls);
  const int before = server.calls;
  EXPECT_FALSE(Call(kAmple, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).ok());
  EXPECT_EQ(server.calls, before + 1);
}

TEST(ChannelTest, RepeatsNothingElse) {
  FailingServer server;
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  server.failures = 1;
  EXPECT_EQ(Call(kAmple, *stub, &Stub::UpdateQuota, v1::UpdateQuotaRequest()).status(),
            absl::UnavailableError("away"));
  EXPECT_EQ(server.calls, 1);
  server.failures = 1;
  grpc::ClientContext context;
  EXPECT_EQ(stub->WatchQuotas(&context, {})->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(server.calls, 2);
}

TEST(ChannelTest, AnUnretriedOneRepeatsNothing) {
  FailingServer server;
  const auto stub = v1::QuotaService::NewStub(MakeUnretriedChannel(server.address()));
  server.failures = 1;
  EXPECT_EQ(Call(kAmple, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).status(),
            absl::UnavailableError("away"));
  EXPECT_EQ(server.calls, 1);
}

TEST(ChannelTest, OfAnyNumberOfReplicasOnlyThoseThatServeAreAsked) {
  FailingServer server;
  server.SetServing(false);
  for (const auto& channel : {MakeChannel(absl::StrCat("dns:///", server.address())),
                              MakeUnretriedChannel(absl::StrCat("dns:///", server.address()))}) {
    const auto stub = v1::QuotaService::NewStub(channel);
    EXPECT_EQ(Call(kAmple, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).status().code(),
              absl::StatusCode::kUnavailable);
    EXPECT_EQ(server.calls, 0);
  }
  const auto stub =
      v1::QuotaService::NewStub(MakeChannel(absl::StrCat("dns:///", server.address())));
  server.SetServing(true);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  EXPECT_TRUE(Call(context, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).ok());
}

TEST(ChannelTest, TheOnlyReplicaIsAskedInAnyCase) {
  FailingServer server;
  server.SetServing(false);
  const auto stub = v1::QuotaService::NewStub(MakeChannel(server.address()));
  EXPECT_TRUE(Call(kAmple, *stub, &Stub::GetQuota, v1::GetQuotaRequest()).ok());
}

}  // namespace
}  // namespace muster::rpc
