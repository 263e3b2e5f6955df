// What callers are told when the server goes, and what is done all the same.
#include <atomic>
#include <future>
#include <thread>

#include "services/quota/testing/service_test_base.h"

namespace muster::quota {
namespace {

using ::muster::testing::StatusIs;

TEST(QuotaShutdownTest, WhoIsToldThatNothingWasDoneFindsNothingDone) {
  testing::TestDatabase database;
  FakeClock clock;
  struct Gate {
    std::atomic<bool> armed = false;
    std::promise<void> reached, open;
    std::shared_future<void> opened = open.get_future().share();
  };
  const auto gate = std::make_shared<Gate>();
  QuotaService::Options options;
  options.lane.connect = {.conninfo = database.conninfo("quota"), .schema = "quota"};
  options.clock = &clock;
  // A COMMIT that takes as long as the test wants.
  options.lane.runner.fault = [gate](absl::string_view site) -> storage::Fault {
    if (site == "write/commit" && gate->armed.exchange(false)) {
      gate->reached.set_value();
      gate->opened.wait();
    }
    return {};
  };
  const auto service = QuotaService::Create(std::move(options)).value();
  rpc::Metrics metrics;
  rpc::ServerOptions serve;
  serve.services = {{v1::QuotaService::service_full_name(), service->grpc_service()}};
  serve.metrics = &metrics;
  serve.drain_delay = absl::ZeroDuration();
  serve.shutdown_grace = absl::ZeroDuration();
  serve.stop_intake = [&] { service->lane().StopIntake(); };
  const auto server = rpc::Server::Create(std::move(serve)).value();
  ASSERT_TRUE(server->Start().ok());
  const auto stub = v1::QuotaService::NewStub(server->InProcessChannel());
  const auto set_limit = [&](const std::string& name, absl::Status& told) {
    v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(name);
    request.mutable_quota()->set_limit(7);
    request.set_allow_missing(true);
    grpc::ClientContext context;
    v1::Quota response;
    told = rpc::FromGrpcStatus(stub->UpdateQuota(&context, request, &response));
  };
  const std::string running = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";
  const std::string waiting = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~spot";

  gate->armed = true;
  absl::Status running_told, waiting_told;
  std::thread first([&] { set_limit(running, running_told); });
  gate->reached.get_future().wait();
  std::thread second([&] { set_limit(waiting, waiting_told); });
  while (service->lane().stats().queued < 2) std::this_thread::yield();
  server->Shutdown();
  first.join();
  second.join();
  gate->open.set_value();
  service->lane().Stop();

  const auto rows = database.Query("SELECT 1 FROM quota.quota");
  ASSERT_EQ(rows.size(), 1u) << "the one whose batch ran";
  EXPECT_THAT(running_told, StatusIs(absl::StatusCode::kUnknown))
      << "it was committed after this was said";
  const auto detail = error::DetailOf(running_told);
  EXPECT_FALSE(detail.has_value() && detail->retry_after.has_value())
      << "nobody may repeat it blindly";
  EXPECT_THAT(waiting_told, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(error::DetailOf(waiting_told).has_value());
}

}  // namespace
}  // namespace muster::quota
