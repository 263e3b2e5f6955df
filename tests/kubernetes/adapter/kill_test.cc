#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/kubernetes/adapter/failure_scenarios.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;

constexpr char kPool[] = "example-nodepool";
constexpr int kKills = 20;
constexpr int64_t kMostNodes = 4;
constexpr int64_t kFewNodes = 2;
// Changes of a collection between a phase's begin, or the last kill, and the next.
constexpr int kMostChanges = 8;
// Of the adapter: this many requests may be under way when it dies.
constexpr int kNodeWorkers = 6;

// Kills the adapter over and over, whenever the cluster has changed so many times.
class Killer {
 public:
  Killer(AdapterStack& stack, unsigned seed) : stack_(stack), counter_(stack), random_(seed) {}

  // Until the phase is over, or three were killed. `over`: of the NodePool; null: it is gone.
  void Haunt(const std::function<bool(const Json& node_pool)>& over) {
    for (int i = 0; i < 3 && kills_ < kKills; ++i) {
      const int changes = 1 + static_cast<int>(random_() % kMostChanges);
      counter_.AwaitChanges(changes, kPool, over);
      if (over(stack_.GetNodePool(kPool))) return;
      stack_.KillAdapter();
      stack_.StartAdapter();
      ++kills_;
    }
  }
  int kills() const { return kills_; }

 private:
  AdapterStack& stack_;
  ChangeCounter counter_;
  std::mt19937 random_;
  int kills_ = 0;
};

bool HasTarget(const Json& pool) { return ReasonOf(pool, "AtTarget") == "TargetMet"; }
bool IsAt(const Json& pool, int64_t nodes) {
  return HasTarget(pool) && pool["status"].value("currentNodes", int64_t{-1}) == nodes;
}

// A NodePool comes, grows, is drained and goes, and the adapter dies on the way.
std::vector<std::string> Live(AdapterStack& stack, Killer& killer) {
  stack.Create(WorkingPool(kPool, kMostNodes));
  killer.Haunt([](const Json& pool) { return IsAt(pool, kMostNodes); });
  EXPECT_TRUE(stack.AwaitHealthy(kPool, kMostNodes)) << Describe(stack);

  BlockDrains(stack);
  std::vector<std::string> pods;
  for (const std::string& node : NodesOf(stack, kPool)) {
    for (std::string& pod : FillNode(stack, node)) pods.push_back(std::move(pod));
  }
  if (stack.server().is_real()) stack.server().SettleBudgets();
  stack.PatchNodePool(kPool, {{"spec", {{"targetNodes", kFewNodes}}}});
  killer.Haunt([](const Json& pool) { return IsAt(pool, kFewNodes); });
  AllowDrains(stack);
  killer.Haunt([](const Json& pool) { return IsAt(pool, kFewNodes); });
  EXPECT_TRUE(stack.AwaitHealthy(kPool, kFewNodes)) << Describe(stack);
  EXPECT_EQ(AwaitQuiet(stack), "");

  stack.DeleteNodePool(kPool);
  killer.Haunt([](const Json& pool) { return pool.is_null(); });
  EXPECT_TRUE(stack.AwaitNodePool(kPool, [](const Json& pool) { return pool.is_null(); }))
      << Describe(stack);
  EXPECT_TRUE(stack.Await(kNodesPath, [](const auto& nodes) { return nodes.empty(); }))
      << Describe(stack);
  return pods;
}

// Every kill may lose the answers to what was under way, one request a worker: a Pod that was asked
// to leave by such a request may be asked once more, and none a third time. The fake server counts
// the requests of each Pod; a real server counts evictions as a whole.
void CheckEvictions(AdapterStack& stack, const std::vector<std::string>& pods, int kills) {
  const auto evicted = static_cast<int64_t>(pods.size() / 2);
  EXPECT_GE(GrantedEvictions(stack), evicted);
  EXPECT_LE(GrantedEvictions(stack), evicted + kills);
  if (stack.server().is_real()) return;
  int again = 0;
  for (const auto& [pod, times] : EvictionModes(stack, pods)) {
    EXPECT_GE(times, 1) << pod;
    EXPECT_LE(times, 2) << pod;
    again += times - 1;
  }
  EXPECT_LE(again, std::min(kills, kNodeWorkers)) << "asked to leave again";
  ::testing::Test::RecordProperty("asked_again", again);
}

TEST(Kill, AtTwentyMoments) {
  AdapterStack stack;
  Killer killer(stack, 20260117);
  std::vector<std::string> pods;
  for (int life = 0; killer.kills() < kKills; ++life) {
    SCOPED_TRACE(life);
    ASSERT_LT(life, 6) << "the lives are too short to be killed in";
    for (std::string& pod : Live(stack, killer)) pods.push_back(std::move(pod));
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
  CheckEvictions(stack, pods, killer.kills());
  EXPECT_EQ(AwaitEvents(stack), "");
  EXPECT_EQ(AwaitQuiet(stack), "");
  EXPECT_EQ(stack.muster().CheckBooks(0), "");
}

}  // namespace
}  // namespace muster::testing
