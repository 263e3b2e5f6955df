#include <cstdint>
#include <string>

#include "services/capacity/testing/service_test_base.h"
#include "tests/testing/patience.h"

// Gangs on the real service: what they keep is for others once its time is over, without anybody
// asking.
namespace muster::capacity {
namespace {

using ::muster::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GangTimerTest : public CapacityServiceTest {
 protected:
  // One machine is free, and kept for a gang; `b` waits behind it.
  void KeepOne() {
    AddCatalogue();
    ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
    ASSERT_THAT(Call(&Stub::SyncClaim, Claim("x", 1)), IsOk());
    v1::SyncClaimRequest gang = Claim("g", 2);
    gang.mutable_claim()->set_gang(true);
    ASSERT_THAT(Call(&Stub::SyncClaim, gang), IsOk());
    clock_.Advance(absl::Seconds(1));
    const auto behind = Call(&Stub::SyncClaim, Claim("b", 1));
    ASSERT_THAT(behind, IsOk());
    ASSERT_THAT(behind->machines(), IsEmpty());
  }
  // Follows the watch until the claim waits for nothing any more.
  void AwaitServed(const std::string& name) {
    grpc::ClientContext context;
    const auto stream = stub_->WatchClaims(&context, {});
    v1::WatchClaimsResponse message;
    while (stream->Read(&message)) {
      if (message.key() == name && message.claim().outstanding() == 0) return context.TryCancel();
    }
    ADD_FAILURE() << "the watch ended: " << stream->Finish().error_message();
  }
  v1::Claim Get(const std::string& name) {
    v1::GetClaimRequest request;
    request.set_name(name);
    const auto claim = Call(&Stub::GetClaim, request);
    EXPECT_THAT(claim, IsOk());
    return claim.value_or(v1::Claim());
  }
};

TEST_F(GangTimerTest, WhoWaitsBehindAGangIsServedAndToldWithoutAsking) {
  KeepOne();
  clock_.Advance(absl::Hours(24));
  AwaitServed("claims/b");
  EXPECT_THAT(Get("claims/b").machines(), ElementsAre("m2"));
  EXPECT_EQ(Get("claims/g").outstanding(), 2);
}

TEST_F(GangTimerTest, WhatCameDueWhileNobodyRanIsSeenToAtTheStart) {
  KeepOne();
  Stop();
  clock_.Advance(absl::Hours(24));
  Start();
  AwaitServed("claims/b");
}

TEST_F(GangTimerTest, TwoReplicasServeOnce) {
  KeepOne();
  const auto second = NewReplica();
  const int64_t before = service_->lane().stats().commands;
  clock_.Advance(absl::Hours(24));
  AwaitServed("claims/b");
  // The other one saw to it, too: of a gang that waits on nobody else tells that its time was over.
  const auto have_both = [&] {
    return service_->lane().stats().commands > before && second->lane().stats().commands > 0;
  };
  testing::Until(have_both, "what each of them does");
  const auto comparison = second->lane().Compare();
  ASSERT_THAT(comparison, IsOk());
  EXPECT_THAT(comparison->differences, IsEmpty());
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM capacity.journal WHERE key = 'claims/b'"),
            "2");
}

}  // namespace
}  // namespace muster::capacity
