// What belongs to no pool: the checker at the end of every Muster sees it, an operator sees it, and
// the services get rid of it by themselves.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/debug/v1/debug_service.grpc.pb.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kGhost[] = "9d0fdb5e-dead-4bad-8bad-000000000001";

// A late request for the holding and the claim of a pool that there is not.
grpc::Status HoldForGhost(const MiniMuster& muster, int64_t generation = 3) {
  grpc::ClientContext context;
  quota::v1::SyncHoldingRequest request;
  request.mutable_holding()->set_name(
      std::string("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default/holdings/") + kGhost);
  request.mutable_holding()->set_nodes(2);
  request.mutable_holding()->set_generation(generation);
  quota::v1::SyncHoldingResponse response;
  return quota::v1::QuotaService::NewStub(muster.channel())
      ->SyncHolding(&context, request, &response);
}

grpc::Status ClaimForGhost(const MiniMuster& muster, int64_t generation = 3) {
  grpc::ClientContext context;
  capacity::v1::SyncClaimRequest request;
  request.mutable_claim()->set_pool_uid(kGhost);
  request.mutable_claim()->set_generation(generation);
  request.mutable_claim()->set_organization("acme");
  request.mutable_claim()->set_zone("RNO2A");
  request.mutable_claim()->set_instance_type("gd-8xa100-i128");
  request.mutable_claim()->set_nodes(2);
  capacity::v1::Claim response;
  return capacity::v1::CapacityService::NewStub(muster.channel())
      ->SyncClaim(&context, request, &response);
}

// SIGKILL to the replica that leads, one of two; returns which it was once the other one does.
size_t KillTheLeader(MiniMuster& muster) {
  const auto ask = [&](const std::string& sql) { return muster.database().QueryValue(sql); };
  const std::string epoch = ask("SELECT epoch FROM lifecycle.lease");
  for (size_t process = 0; process < 2; ++process) {
    muster.Kill(process);
    // After its last renewal, however long it took to kill it.
    const std::string died = ask("SELECT clock_timestamp()");
    std::string now;
    // The other one takes the lease, or renews what it has.
    const auto clear = [&] {
      now = ask("SELECT epoch FROM lifecycle.lease");
      return now != epoch ||
             ask(absl::StrCat(
                 "SELECT expire_time > '", died,
                 "'::timestamptz + interval '12 seconds' FROM lifecycle.lease_heartbeat"
                 " WHERE epoch = ",
                 epoch, " UNION ALL SELECT false LIMIT 1")) == "t";
    };
    Until(clear, "somebody who leads");
    if (now != epoch) return process;
    muster.Start();
  }
  throw std::runtime_error("Nobody led.");
}

TEST(Books, AGhostIsSeenByTheCheckerAndByAnOperator) {
  MiniMuster muster({.audit_books = false});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  EXPECT_EQ(muster.AuditBooks(), "");
  const Finished sound = muster.Ctl({"debug", "audit", "--settle=100ms"});
  EXPECT_EQ(sound.exit_code, 0) << sound.output;
  EXPECT_THAT(sound.output, HasSubstr("acme           RNO2A   gd-8xa100-i128   default   1       1 "
                                      "      1         1          1"));

  ASSERT_TRUE(HoldForGhost(muster).ok());
  ASSERT_TRUE(ClaimForGhost(muster).ok());
  const std::string wrong = muster.AuditBooks(absl::ZeroDuration());
  EXPECT_THAT(wrong, HasSubstr(std::string("orphan_claim ") + kGhost));
  EXPECT_THAT(wrong, HasSubstr("2 Nodes charged to a pool that does not exist."));
  const Finished haunted = muster.Ctl({"debug", "audit", "--settle=100ms"});
  EXPECT_EQ(haunted.exit_code, 1) << haunted.output;
  EXPECT_THAT(haunted.output, HasSubstr(kGhost));
  EXPECT_THAT(haunted.output, HasSubstr("2 machines held by a pool that does not exist."));
}

TEST(Books, AGhostIsGivenBackByTheServicesThemselves) {
  MiniMuster muster({.musterd_flags = {"--orphan_interval=1s", "--orphan_grace=2s"}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  ASSERT_TRUE(HoldForGhost(muster).ok());
  ASSERT_TRUE(ClaimForGhost(muster).ok());
  EXPECT_EQ(muster.AuditBooks(), "") << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(1), "") << "the living pool keeps what it has";
  EXPECT_EQ(HoldForGhost(muster, 9).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ClaimForGhost(muster, 9).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// The leader dies while what belongs to no pool is to be given back. The other replica does it,
// once it has seen it without a pool for a whole grace of its own.
TEST(Books, WhenTheLeaderDiesTheOtherGivesAGhostBackOnceAndNotTooEarly) {
  constexpr char kAll[] = "capacity,quota,lifecycle,configuration";
  // Nobody loses the lease but who dies; longer than the one is the other, or a renewal could not
  // be told (KillTheLeader).
  MiniMuster muster(
      {.processes = {kAll, kAll},
       .musterd_flags = {"--orphan_interval=1s", "--orphan_grace=20s", "--lease_ttl=10s"}});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  const size_t follower = KillTheLeader(muster);
  muster.Start();
  ASSERT_TRUE(HoldForGhost(muster).ok());
  ASSERT_TRUE(ClaimForGhost(muster).ok());
  const std::string died = muster.database().QueryValue("SELECT clock_timestamp()");
  muster.Kill(1 - follower);
  const auto released = [&](const std::string& schema) {
    return muster.database().QueryValue(
        absl::StrCat("SELECT count(*) FROM ", schema,
                     ".journal WHERE kind = '_released_pool' AND key = '", kGhost, "'"));
  };
  Until([&] { return released("quota") == "1" && released("capacity") == "1"; }, "the release");
  for (const char* schema : {"quota", "capacity"}) {
    EXPECT_EQ(muster.database().QueryValue(absl::StrCat(
                  "SELECT release_time >= '", died, "'::timestamptz + interval '20 seconds' FROM ",
                  schema, ".released_pool WHERE pool_uid = '", kGhost, "'")),
              "t")
        << schema << ": the grace of a leader before it was counted";
  }
  // The one that died leads again, looks, and finds nothing to do.
  muster.Start();
  KillTheLeader(muster);
  muster.Start();
  EXPECT_EQ(muster.AuditBooks(), "") << muster.LogEnds();
  EXPECT_EQ(muster.CheckBooks(1), "");
  for (const char* schema : {"quota", "capacity"}) EXPECT_EQ(released(schema), "1") << schema;
}

// Each is dear: those who wait are told by one, and nobody is sent away.
TEST(Comparisons, AskedForAtOnceAreAllAnswered) {
  MiniMuster muster({.audit_books = false});
  muster.ApplyCatalogue();
  const auto stub = debug::v1::DebugService::NewStub(muster.operator_channel());
  std::vector<std::thread> askers;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&] {
      grpc::ClientContext context;
      debug::v1::CompareStateResponse response;
      const grpc::Status status = stub->CompareState(&context, {}, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.comparisons_size(), 4);
    });
  }
  for (std::thread& asker : askers) asker.join();
}

}  // namespace
}  // namespace muster::testing
