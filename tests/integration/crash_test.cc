// kill -9 and outages in the midst of a scaling: nothing lost, nothing double.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/rpc/status.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

// Every event about one Node was told once; so many of each kind.
void ExpectEventsOnce(const MiniMuster& muster, const std::map<std::string, int>& wanted) {
  std::map<std::string, int> counts;
  for (const auto& event : muster.Events()) {
    if (event.object() != MiniMuster::kPool) {
      EXPECT_EQ(event.count(), 1) << event.object() << " " << event.reason();
    }
    counts[event.reason()] += static_cast<int>(event.count());
  }
  for (const auto& [reason, count] : wanted) EXPECT_EQ(counts[reason], count) << reason;
}

TEST(Crash, KillNineAtTwentyMomentsOfAScaling) {
  MiniMuster muster;
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  std::mt19937 random(20);  // which moments; the scheduler of the machine has its say too
  const auto kill_ten_times = [&] {
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 250)(random)));
      muster.Kill();
      muster.Start();
      // After each restart: the state that was loaded is the state that the journal tells.
      EXPECT_EQ(muster.CompareStates(), "");
    }
  };
  ASSERT_TRUE(muster.Resize(20).ok());
  kill_ten_times();
  ASSERT_TRUE(muster.AwaitSettled(20)) << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(20), "");
  ASSERT_TRUE(muster.Resize(3).ok());
  kill_ten_times();
  ASSERT_TRUE(muster.AwaitSettled(3)) << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(3), "");
  ExpectEventsOnce(muster,
                   {{"CWNodePoolCreated", 1}, {"CWNodeAssigned", 20}, {"CWNodeDeleted", 17}});
}

TEST(Crash, PostgresAwayForTenSecondsInTheMidstOfAScaling) {
  MiniMuster muster({.own_cluster = true});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  ASSERT_TRUE(muster.Resize(20).ok());

  // Callers that raise a limit each all the while, and remember what was acknowledged. Those whose
  // commit was under way may be served late.
  constexpr size_t kCallers = 4;
  std::atomic<bool> stop = false;
  std::vector<int64_t> acknowledged(kCallers, 0);
  std::vector<std::set<int>> failures(kCallers);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      const auto stub = quota::v1::QuotaService::NewStub(muster.channel());
      for (int64_t limit = 100; !stop; ++limit) {
        grpc::ClientContext context;
        context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(3)));
        quota::v1::UpdateQuotaRequest request;
        request.mutable_quota()->set_name(
            absl::StrCat("organizations/caller", i, "/quotas/RNO2A~gd-8xa100-i128~default"));
        request.mutable_quota()->set_limit(limit);
        request.set_allow_missing(true);
        quota::v1::Quota answer;
        const grpc::Status status = stub->UpdateQuota(&context, request, &answer);
        if (status.ok()) {
          acknowledged[i] = limit;
        } else {
          failures[i].insert(status.error_code());
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      }
    });
  }

  muster.cluster().Stop(PostgresCluster::StopMode::kImmediate);
  const absl::Time stopped = absl::Now();
  bool not_serving = false;
  while (absl::Now() - stopped < absl::Seconds(10)) {
    not_serving = not_serving || !muster.IsServing();
    // Who calls now is told at once, not kept waiting.
    EXPECT_EQ(muster.Resize(20).status().code(), absl::StatusCode::kUnavailable);
    if (absl::Now() - stopped > absl::Seconds(5)) {
      EXPECT_TRUE(not_serving || !muster.IsServing()) << "readiness must follow within 5 s";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_TRUE(not_serving);
  muster.cluster().Start();
  const absl::Time started = absl::Now();
  while (!muster.IsServing()) {
    ASSERT_LT(absl::Now() - started, absl::Seconds(30));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }

  ASSERT_TRUE(muster.AwaitSettled(20)) << muster.LogEnds();
  stop = true;
  for (size_t i = 0; i < kCallers; ++i) {
    callers[i].join();
    for (const int code : failures[i]) EXPECT_EQ(code, grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(muster.database().QueryValue(absl::StrCat(
                  "SELECT limit_nodes FROM quota.quota WHERE organization = 'caller", i, "'")),
              absl::StrCat(acknowledged[i]));
  }
  EXPECT_EQ(muster.CheckBooks(20), "");
  ExpectEventsOnce(muster, {{"CWNodeAssigned", 20}});
}

// The journal's head is locked by somebody else while the server is told to go: a write that waits
// for the lock may be done later, those behind it never.
TEST(Crash, WhoWaitsWhenTheServerGoesIsToldThatNothingWasDone) {
  MiniMuster muster;
  const auto stub = quota::v1::QuotaService::NewStub(muster.channel());
  const auto set_limit = [&](const std::string& organization) {
    grpc::ClientContext context;
    quota::v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(
        absl::StrCat("organizations/", organization, "/quotas/RNO2A~gd-8xa100-i128~default"));
    request.mutable_quota()->set_limit(7);
    request.set_allow_missing(true);
    quota::v1::Quota answer;
    return rpc::FromGrpcStatus(stub->UpdateQuota(&context, request, &answer));
  };
  const auto waiting_sessions = [&] {
    return muster.database().QueryValue(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        "usename = 'muster_quota' AND wait_event_type = 'Lock'");
  };
  OpenTransaction locker = muster.database().Hold("SELECT 1 FROM quota.journal_head FOR UPDATE");
  absl::Status running, waiting;
  std::thread first([&] { running = set_limit("running"); });
  Until([&] { return waiting_sessions() == "1"; }, "a write");
  std::thread second([&] { waiting = set_limit("waiting"); });
  // Sent after it over the same connection, and answered from memory.
  grpc::ClientContext context;
  quota::v1::ListQuotasRequest list;
  list.set_parent("organizations/-");
  quota::v1::ListQuotasResponse quotas;
  EXPECT_TRUE(stub->ListQuotas(&context, list, &quotas).ok());
  std::thread ending([&] { EXPECT_EQ(muster.Terminate(), 0); });
  first.join();
  second.join();
  locker.reset();
  ending.join();
  EXPECT_THAT(running, StatusIs(absl::StatusCode::kUnknown)) << "it may be committed after this";
  EXPECT_THAT(waiting, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(error::DetailOf(waiting).has_value()) << "not the service's word, the connection's";
  EXPECT_EQ(muster.database().QueryValue(
                "SELECT count(*) FROM quota.quota WHERE organization = 'waiting'"),
            "0");
  muster.Start();
}

TEST(Crash, SigtermEndsInOrder) {
  MiniMuster muster;
  muster.ApplyCatalogue();
  muster.ApplyExample();
  EXPECT_EQ(muster.Terminate(), 0) << muster.LogEnds();
  muster.Start();
  EXPECT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(1), "");
}

}  // namespace
}  // namespace muster::testing
