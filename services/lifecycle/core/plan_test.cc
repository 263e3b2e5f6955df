#include "services/lifecycle/core/plan.h"

#include <gtest/gtest.h>

#include <variant>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    pool_.spec.instance_type = "gd-8xa100-i128";
    snapshot_.cluster = &cluster_;
    snapshot_.pool = &pool_;
    snapshot_.catalogue = {true, TypeFacts{.gpus = 8}, true, true};
    snapshot_.now = absl::FromUnixSeconds(1'750'000'000);
  }
  template <class T>
  static void Release(PeerReply<T>& answer) {
    answer.state = PeerReply<T>::State::kRefused;
    answer.reason = "POOL_RELEASED";
  }
  bool RemovesThePool() const {
    for (const Action& action : Plan(snapshot_).actions) {
      if (std::holds_alternative<RemovePool>(action)) return true;
    }
    return false;
  }

  Cluster cluster_;
  Pool pool_{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"};
  Snapshot snapshot_;
};

TEST_F(PlanTest, TheSameSnapshotGivesTheSamePlan) {
  EXPECT_EQ(Plan(snapshot_), Plan(snapshot_));
  EXPECT_FALSE(Plan(snapshot_).actions.empty()) << "nothing is published yet";
}

TEST_F(PlanTest, WhileAServiceIsAwayItIsAskedAgainSoon) {
  snapshot_.answers.holding.state = PeerReply<HoldingFacts>::State::kAway;
  EXPECT_LE(Plan(snapshot_).due, snapshot_.now + snapshot_.policy.retry);
  // One that has released the pool says the same for ever.
  Release(snapshot_.answers.holding);
  EXPECT_GT(Plan(snapshot_).due, snapshot_.now + snapshot_.policy.retry);
}

TEST_F(PlanTest, AServiceThatReleasedADeletedPoolHoldsNothingOfIt) {
  pool_.delete_time = snapshot_.now;
  pool_.status.conditions = {
      {condition::kNodesRemoved, "True", reason::kComplete, "All Nodes have been removed."}};
  snapshot_.answers.configuration.state = PeerReply<ConfigurationFacts>::State::kHere;
  Release(snapshot_.answers.claim);
  EXPECT_FALSE(RemovesThePool()) << "quota has not answered";
  Release(snapshot_.answers.holding);
  EXPECT_TRUE(RemovesThePool());
}

}  // namespace
}  // namespace muster::lifecycle
