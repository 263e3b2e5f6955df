#include "services/capacity/core/claim_answer.h"

#include <gtest/gtest.h>

#include "services/capacity/core/test_world.h"

namespace muster::capacity {
namespace {

class ClaimAnswerTest : public ::testing::Test {
 protected:
  // `held` waits for 5 machines, gets them an hour later, and `p` waits for 2 behind 3 of `q`.
  ClaimAnswerTest() {
    world_.AddCatalogue();
    Sync(world_.Want("held", 5));
    std::vector<MachineRow> machines;
    for (int i = 0; i < 5; ++i) machines.push_back(World::Machine(absl::StrCat("m", i)));
    world_.Register(std::move(machines));
    granted_ = world_.now();
    Sync(world_.Want("q", 3));
    Sync(world_.Want("p", 2));
  }
  void Sync(const SyncClaim& claim) {
    ASSERT_TRUE(world_.Do(claim).ok());
    world_.Advance(absl::Hours(1));
  }
  std::optional<WaitRange> WaitOf(const std::string& uid, absl::Time now) {
    return AnswerOf(world_.state(), world_.View(uid), now).wait;
  }

  World world_;
  absl::Time granted_ = {};
};

TEST_F(ClaimAnswerTest, WhoWaitsIsToldByTheGrantsOfTheLastDay) {
  EXPECT_EQ(WaitOf("p", world_.now()), EstimateWait(5, 5));
  EXPECT_EQ(WaitOf("q", world_.now()), EstimateWait(5, 3));
  EXPECT_TRUE(EstimateWait(5, 3));
}

TEST_F(ClaimAnswerTest, GrantsOfTheDayBeforeTellNothing) {
  EXPECT_TRUE(WaitOf("p", granted_ + kWaitWindow));
  EXPECT_EQ(WaitOf("p", granted_ + kWaitWindow + absl::Microseconds(1)), std::nullopt);
}

TEST_F(ClaimAnswerTest, NothingIsToldOfWhoHasAllOrCannotBeServed) {
  EXPECT_EQ(WaitOf("held", world_.now()), std::nullopt);
  SyncClaim picky = world_.Want("picky", 2);
  picky.affinity = {{{{{"disk", AffinityOperator::kExists, {}}}}}};
  Sync(picky);
  ASSERT_EQ(world_.View("picky").reason, ClaimReason::kNoneAvailableNodeAffinity);
  EXPECT_EQ(WaitOf("picky", world_.now()), std::nullopt);
}

}  // namespace
}  // namespace muster::capacity
