// kill -9 and outages in the midst of a scaling: nothing lost, nothing double.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/rpc/status.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"
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

// The pool's Nodes, four steps each: how far they have come, or have yet to go.
int64_t StepsOf(const MiniMuster& muster) {
  const std::string steps = muster.database().QueryValue(
      absl::StrCat("SELECT coalesce(sum(CASE state WHEN 'PRODUCTION' THEN 4 WHEN 'REGISTERED' THEN "
                   "3 WHEN 'CORDONED' THEN 3 WHEN 'BOOTING' THEN 2 WHEN 'DRAINING' THEN 2 WHEN "
                   "'DELETED' THEN 0 ELSE 1 END), 0) FROM lifecycle.node WHERE pool_name = '",
                   MiniMuster::kPool, "'"));
  int64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(steps, &number)) << steps;
  return number;
}

// Ten kills on the way from so many Nodes to so many, each once some of a tenth of it is done and
// not all. Returns how many met it so.
int KillTenTimes(MiniMuster& muster, int64_t from, int64_t to, std::mt19937& random) {
  int met = 0;
  for (int i = 1; i <= 10; ++i) {
    const int64_t target = from + (to - from) * i / 10;
    const auto left = [&] { return std::abs(StepsOf(muster) - 4 * target); };
    const int64_t all = left();
    EXPECT_THAT(muster.Resize(target).status(), IsOk());
    const int64_t stay = std::uniform_int_distribution<int64_t>(all / 2, all - 1)(random);
    int64_t rest = all;
    Until([&] { return (rest = left()) <= stay; }, "the moment");
    muster.Kill();
    met += rest > 0 ? 1 : 0;
    muster.Start();
    // After each restart: the state that was loaded is the state that the journal tells.
    EXPECT_EQ(muster.CompareStates(), "");
  }
  return met;
}

TEST(Crash, KillNineAtTwentyMomentsOfAScaling) {
  MiniMuster::Options options;
  // Each Node takes its own time, so that there are many moments.
  options.fleetsim_flags = {"--boot_time=800ms",      "--ready_time=300ms", "--drain_time=500ms",
                            "--terminate_time=300ms", "--spread=0.5",       "--seed=7"};
  MiniMuster muster(std::move(options));
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  std::mt19937 random(20);  // which moments; the scheduler of the machine has its say too
  EXPECT_GE(KillTenTimes(muster, 1, 20, random), 8) << "kills in the midst of growing";
  ASSERT_TRUE(muster.AwaitSettled(20)) << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(20), "");
  EXPECT_GE(KillTenTimes(muster, 20, 3, random), 8) << "kills in the midst of shrinking";
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
  Until(
      [&] {
        const std::string page = HttpGet(muster.metrics_address(), "/metrics", absl::Minutes(1));
        const std::string queued = "\nmuster_lane_queued_commands{service=\"quota\"} ";
        const size_t at = page.find(queued);
        return at != std::string::npos && std::atoi(page.c_str() + at + queued.size()) >= 2;
      },
      "a write that stands behind it");
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
