// One service a process, and two replicas of everything.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/mini_muster.h"

namespace muster::testing {
namespace {

constexpr char kAll[] = "capacity,quota,lifecycle,configuration";
constexpr char kHot[] = "organizations/hot/quotas/RNO2A~gd-8xa100-i128~default";

TEST(Apart, FourProcessesBringTheSamePoolUp) {
  MiniMuster muster({.processes = {"capacity", "quota", "configuration", "lifecycle"}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  ASSERT_TRUE(muster.Resize(4).ok());
  ASSERT_TRUE(muster.AwaitSettled(4)) << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(4), "");
}

TEST(Apart, AServiceThatIsAwayIsAFactAndHeals) {
  MiniMuster muster({.processes = {"capacity", "quota", "configuration", "lifecycle"}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  // What says that the service of this process is away.
  const std::vector<std::string> types = {"Capacity", "Quota", "NodeReconfigurationRequired"};
  for (size_t process = 0; process < types.size(); ++process) {
    SCOPED_TRACE(types[process]);
    const auto nodes = static_cast<int64_t>(2 + process);
    muster.Kill(process);
    ASSERT_TRUE(muster.Resize(nodes).ok());
    EXPECT_TRUE(muster.Await([&](const auto* pool) {
      for (const auto& condition : pool->status().conditions()) {
        if (condition.type() == types[process])
          return condition.reason() == "InternalError" && condition.status() == "Unknown" &&
                 condition.observed_generation() == pool->generation();
      }
      return false;
    })) << muster.LogEnds();
    muster.Start();
    EXPECT_TRUE(muster.AwaitSettled(nodes)) << muster.LogEnds();
    EXPECT_EQ(muster.CheckBooks(nodes), "");
  }
}

TEST(Apart, AnotherReplicaReconcilesWhenTheLeaderDies) {
  MiniMuster muster({.processes = {kAll, kAll}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  for (size_t dead = 0; dead < 2; ++dead) {
    muster.Kill(dead);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    lifecycle::v1::ResizeNodePoolRequest request;
    request.set_name(MiniMuster::kPool);
    request.set_target_nodes(static_cast<int64_t>(3 + dead));
    lifecycle::v1::NodePool pool;
    const auto status = lifecycle::v1::LifecycleService::NewStub(muster.channel(1 - dead))
                            ->ResizeNodePool(&context, request, &pool);
    ASSERT_TRUE(status.ok()) << status.error_message();
    muster.Start();
    ASSERT_TRUE(muster.AwaitSettled(static_cast<int64_t>(3 + dead))) << muster.LogEnds();
  }
  EXPECT_EQ(muster.CheckBooks(4), "");
}

TEST(Apart, TwoReplicasWith32WritersHoldExactlyTheLimit) {
  MiniMuster muster({.processes = {kAll, kAll}, .audit_books = false});
  quota::v1::UpdateQuotaRequest update;
  update.mutable_quota()->set_name(kHot);
  update.mutable_quota()->set_limit(100);
  update.set_allow_missing(true);
  grpc::ClientContext update_context;
  quota::v1::Quota updated;
  const auto first = quota::v1::QuotaService::NewStub(muster.channel(0));
  ASSERT_TRUE(first->UpdateQuota(&update_context, update, &updated).ok());

  // A watcher that reconnects five times, to the one replica and the other.
  constexpr int64_t kWrites = 32 * 8;
  std::vector<int64_t> seen;
  std::thread watching([&] {
    for (size_t connection = 0; connection <= 5; ++connection) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
      quota::v1::WatchQuotasRequest request;
      request.mutable_start()->set_after_revision(seen.empty() ? 0 : seen.back());
      const auto stream = quota::v1::QuotaService::NewStub(muster.channel(connection % 2))
                              ->WatchQuotas(&context, request);
      const size_t enough = connection == 5 ? 1 + kWrites : seen.size() + 20;
      quota::v1::WatchQuotasResponse message;
      while (seen.size() < enough && stream->Read(&message)) {
        if (message.type() != type::v1::WATCH_EVENT_TYPE_PROGRESS)
          seen.push_back(message.revision());
      }
      context.TryCancel();
      stream->Finish();
    }
  });
  std::atomic<int64_t> failed = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 32; ++writer) {
    writers.emplace_back([&, writer] {
      const auto stub =
          quota::v1::QuotaService::NewStub(muster.channel(static_cast<size_t>(writer % 2)));
      for (int i = 0; i < 8; ++i) {
        grpc::ClientContext context;
        quota::v1::SyncHoldingRequest request;
        request.mutable_holding()->set_name(absl::StrCat(kHot, "/holdings/w", writer, "-", i));
        request.mutable_holding()->set_nodes(1);
        request.mutable_holding()->set_generation(1);
        quota::v1::SyncHoldingResponse response;
        if (!stub->SyncHolding(&context, request, &response).ok()) ++failed;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  watching.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(muster.database().QueryValue("SELECT sum(nodes) FROM quota.holding"), "100");
  ASSERT_EQ(seen.size(), 1u + kWrites);
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<int64_t>(i) + 1);
  EXPECT_EQ(muster.CompareStates(), "");
}

}  // namespace
}  // namespace muster::testing
