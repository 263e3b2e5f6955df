#include "services/lifecycle/reconcile/pool_pace.h"

#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

constexpr char kName[] = "organizations/acme/clusters/c1/nodePools/train";
constexpr absl::Duration kNone = absl::ZeroDuration();
const absl::Duration kWhole = static_cast<double>(PoolPace::kLargePool) * PoolPace::kRestANode;

class PoolPaceTest : public ::testing::Test {
 protected:
  PoolPaceTest() { pool_.name = kName; }
  void Look(size_t nodes, const PoolPlan& plan = {}) {
    Snapshot snapshot;
    snapshot.pool = &pool_;
    snapshot.nodes.resize(nodes);
    pace_.Looked(snapshot, plan);
  }
  static PoolPlan PlanOf(Action action) {
    PoolPlan plan;
    plan.actions.push_back(std::move(action));
    return plan;
  }

  Pool pool_;
  FakeSteadyClock clock_;
  PoolPace pace_{&clock_};
};

TEST_F(PoolPaceTest, ALargePoolRestsInProportionToItsNodes) {
  EXPECT_EQ(pace_.RestOf(kName), kNone);
  Look(PoolPace::kLargePool);
  EXPECT_EQ(pace_.RestOf(kName), kWhole);
  clock_.Advance(kWhole / 2);
  EXPECT_EQ(pace_.RestOf(kName), kWhole / 2);
  clock_.Advance(kWhole);
  EXPECT_EQ(pace_.RestOf(kName), kNone);
  Look(3 * PoolPace::kLargePool);
  EXPECT_EQ(pace_.RestOf(kName), 3 * kWhole);
  Look(PoolPace::kLargePool - 1);
  EXPECT_EQ(pace_.RestOf(kName), kNone);
}

// Nodes report while it is looked at.
TEST_F(PoolPaceTest, ItRestsFromTheBeginningOfALook) {
  pace_.Begin({kName});
  EXPECT_EQ(pace_.RestOf(kName), kNone) << "its size is not known";
  Look(PoolPace::kLargePool);
  clock_.Advance(2 * kWhole);
  pace_.Begin({kName});
  EXPECT_EQ(pace_.RestOf(kName), kWhole);
}

TEST_F(PoolPaceTest, WhereThereIsMoreToDoThanToPublishNobodyRests) {
  Look(PoolPace::kLargePool, PlanOf(SetStatus{}));
  EXPECT_EQ(pace_.RestOf(kName), kWhole);
  Look(PoolPace::kLargePool, PlanOf(SetAccount{}));
  EXPECT_EQ(pace_.RestOf(kName), kNone);
  Look(PoolPace::kLargePool);
  Look(PoolPace::kLargePool, PlanOf(OrderBoot{}));
  EXPECT_EQ(pace_.RestOf(kName), kNone);
}

TEST_F(PoolPaceTest, ItRestsFromWhatWasPublishedAndFromNothingElse) {
  EXPECT_EQ(pace_.RestAfter(pool_), kNone);
  Look(PoolPace::kLargePool, PlanOf(SetStatus{}));
  Pool published = pool_;
  published.status.current_nodes = 7;
  published.account.scaled_to = 7;
  EXPECT_EQ(pace_.RestAfter(published), kWhole);
  Pool resized = published;
  resized.spec.target_nodes = 8;
  EXPECT_EQ(pace_.RestAfter(resized), kNone);
  Pool asks_anew = published;
  ++asks_anew.account.generation;
  EXPECT_EQ(pace_.RestAfter(asks_anew), kNone);
  pace_.Clear();
  EXPECT_EQ(pace_.RestAfter(published), kNone);
}

}  // namespace
}  // namespace muster::lifecycle
