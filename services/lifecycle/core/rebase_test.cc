// Services that know later requests of a pool than its rows do: lifecycle was restored to a past.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>

#include "services/lifecycle/core/simulation.h"

namespace muster::lifecycle {
namespace {

struct Ahead {
  const char* name;
  int64_t quota;
  int64_t capacity;
  int64_t configuration;
};

class Rebase : public ::testing::TestWithParam<Ahead> {};

TEST_P(Rebase, ThePoolGoesOnAboveWhatTheServicesKnow) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Settle());
  sim.GoAhead(GetParam().quota, GetParam().capacity, GetParam().configuration);
  sim.Resize(5);
  EXPECT_TRUE(sim.Settle());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  EXPECT_EQ(sim.Reason("Capacity"), "Sufficient");
  EXPECT_EQ(sim.machines().size(), 5);
  EXPECT_EQ(sim.NodeMachines(), sim.machines());
  EXPECT_EQ(sim.holding(), 5);
  sim.Delete();
  EXPECT_TRUE(sim.Settle());
  EXPECT_EQ(sim.pool(), nullptr);
  EXPECT_FALSE(sim.has_claim());
  EXPECT_FALSE(sim.has_holding());
  EXPECT_TRUE(sim.never_over);
  EXPECT_TRUE(sim.fenced);
  EXPECT_TRUE(sim.same_twice);
}

INSTANTIATE_TEST_SUITE_P(
    Of, Rebase,
    ::testing::Values(Ahead{"Nobody", 0, 0, 0}, Ahead{"QuotaByOne", 1, 0, 0},
                      Ahead{"Quota", 1'000, 0, 0}, Ahead{"CapacityByOne", 0, 1, 0},
                      Ahead{"Capacity", 0, 1'000, 0}, Ahead{"Configuration", 0, 0, 1'000},
                      Ahead{"Both", 7, 2, 0}, Ahead{"All", 2, 7, 9},
                      Ahead{"Far", int64_t{1} << 40, int64_t{1} << 41, int64_t{1} << 42}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

// What was granted in the lost future comes back into the books, and goes.
TEST(RebaseTo, MachinesOfTheLostFutureBecomeNodesAndGo) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Settle());
  sim.GoAhead(4, 4, 0);
  sim.GrowClaim(2);
  sim.Resize(4);
  EXPECT_TRUE(sim.Settle());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.machines().size(), 4);
  EXPECT_EQ(sim.NodeMachines(), sim.machines());
  EXPECT_EQ(sim.holding(), 4);
}

// The generation that a plan raises to; 0: it does not.
RaiseGeneration Raised(int64_t known, const std::string& reason = "GENERATION_TOO_OLD") {
  Simulation sim;
  sim.Create(3);
  EXPECT_TRUE(sim.Settle());
  Snapshot snapshot = sim.Look();
  EXPECT_LT(snapshot.pool->account.generation, 100);
  auto& holding = snapshot.answers.holding;
  holding = {};
  holding.state = Answer<HoldingAnswer>::State::kRefused;
  holding.reason = reason;
  holding.last_generation = known;
  for (const Action& action : Plan(snapshot).actions) {
    if (const auto* raise = std::get_if<RaiseGeneration>(&action)) return *raise;
  }
  return {};
}

TEST(RebaseTo, OnlyWhatIsNewerThanTheRowsIsGoneBeyond) {
  EXPECT_EQ(Raised(100).account, 101);
  EXPECT_EQ(Raised(100).pool, 0);
  EXPECT_EQ(Raised(1).account, 0);  // a late word on a request of long ago
  EXPECT_EQ(Raised(0).account, 0);  // a service that does not say
  EXPECT_EQ(Raised(100, "POOL_RELEASED").account, 0);
  EXPECT_EQ(Raised(kMaxGeneration).account, kMaxGeneration + 1);
  EXPECT_EQ(Raised(kMaxGeneration + 1).account, 0);
  EXPECT_EQ(Raised(std::numeric_limits<int64_t>::max()).account, 0);
}

}  // namespace
}  // namespace muster::lifecycle
