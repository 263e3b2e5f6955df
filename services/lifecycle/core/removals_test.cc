// Nodes that the cluster autoscaler marked as its victims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using O = ReportNode::Observation;

struct Marked : Running {
  using Running::Running;
  void Live() {
    if (!Converge()) std::abort();
  }
  // It is marked, of the pool's two the one that is to go, and cordoned; then work comes to it.
  void CordonAndBusy(const std::string& machine) {
    ASSERT_TRUE(Report(machine, O::kAutoscalerMarked).ok());
    Resize(1);
    ASSERT_TRUE(Pass());
    SetActive(machine, true);
    Live();
  }
  // g100 is ill and leaves to be replaced.
  void LoseOne() {
    ASSERT_TRUE(Report("g100", O::kUnhealthy).ok());
    Live();
    Advance(policy.triage_grace);
    Live();
  }
  // Nobody but g101 is left of those who were there, and another has come.
  void ExpectOneCame() {
    EXPECT_THAT(NodeMachines(), SizeIs(2));
    EXPECT_THAT(NodeMachines(), Contains("g101"));
    for (const char* machine : {"g100", "g102"}) {
      EXPECT_TRUE(node(machine) == nullptr || !IsNamed(*node(machine))) << machine;
    }
    EXPECT_EQ(pool()->account.prefill_nodes, 0);
    EXPECT_EQ(holding(), 2);
    EXPECT_EQ(Reason("AtTarget"), "TargetMet");
    EXPECT_TRUE(never_over && fenced && same_twice);
  }
  // The message of the first defer of that kind in the last plan; empty: there is none.
  std::string Waits(DeferReason reason) const {
    for (const Defer& defer : last_plan.defers) {
      if (defer.reason == reason) return defer.message;
    }
    return "";
  }
};

// The autoscaler marks its victims with its taint and lowers targetNodes by their number.
TEST(AutoscalerMarks, ExactlyTheMarkedGo) {
  Marked sim(3);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101"));
}

TEST(AutoscalerMarks, ABusyOneIsWaitedForUntilItIsIdleOrUnmarked) {
  Marked sim(3);
  sim.SetActive("g102", true);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
  EXPECT_THAT(sim.Obstacles(), ::testing::Not(::testing::Contains("MARKED_BY_AUTOSCALER")))
      << "the target asks for it";
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerUnmarked).ok());
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102"));
}

TEST(AutoscalerMarks, AProtectedOneIsWaitedForAndNobodyGoesInstead) {
  Marked sim(3);
  const absl::Time until = sim.now() + absl::Hours(1);
  sim.Must(UpdateNode{.name = NodeName(kSimPool, "g102"), .protect_until_time = until});
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
  EXPECT_THAT(sim.Obstacles(), Contains("PROTECTED"));
  sim.Advance(until - sim.now());
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101"));
}

// It has given its victims up: nobody takes its taint and its cordon off again. A target that rises
// before their drain began is filled with others.
TEST(AutoscalerMarks, ATargetThatRisesAgainIsFilledWithOthers) {
  Marked sim(4);
  for (const char* machine : {"g101", "g102"})
    ASSERT_TRUE(sim.Report(machine, O::kAutoscalerMarked).ok());
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  ASSERT_EQ(sim.node("g102")->state, NodeState::kCordoned);
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.Resize(4);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(4));
  EXPECT_THAT(sim.NodeMachines(), Contains("g100")) << "Muster chose it: it is let go";
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g101")));
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g102")));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.holding(), 4);
  EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
}

TEST(AutoscalerMarks, OneThatItUnmarksIsLetGo) {
  Marked sim(2);
  ASSERT_TRUE(sim.Report("g101", O::kAutoscalerMarked).ok());
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  ASSERT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  ASSERT_TRUE(sim.Report("g101", O::kAutoscalerUnmarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101"));
  EXPECT_FALSE(sim.node("g101")->desired.cordoned);
}

// IdleOnly: work that came to it ends in peace, and no other work comes.
TEST(AutoscalerMarks, WorkThatComesToACordonedOneIsAwaited) {
  Marked sim(2);
  sim.CordonAndBusy("g101");
  EXPECT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  EXPECT_FALSE(sim.node("g101")->desired.drain);
  EXPECT_EQ(sim.Waits(DeferReason::kWaitsUntilIdle),
            "Node g101 was marked by the cluster autoscaler and goes once it is idle "
            "(scaleDownStrategy IdleOnly).");
  ASSERT_TRUE(sim.Report("g101", O::kIdle).ok());
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g100"));
}

// The order's deadline is its own, whatever the pool's strategy is.
TEST(AutoscalerMarks, ADrainByForceOfOneThatIsAwaitedIsByForce) {
  Marked sim(2);
  sim.CordonAndBusy("g101");
  ASSERT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  sim.Must(OrderNode{
      .name = NodeName(kSimPool, "g101"), .verb = OrderNode::Verb::kDrain, .force = true});
  for (int i = 0; i < 3; ++i) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Pass();
  }
  EXPECT_TRUE(sim.node("g101")->desired.force_drain);
}

// A lowered target and a rise that came as one change: that it was lowered is not known, and who is
// marked may also be one that the autoscaler is still emptying, to lower the target once it has. So
// the Nodes stay, the others that are asked for come, and who must act is told.
TEST(AutoscalerMarks, ARiseThatSwallowsTheLoweredTargetLeavesThemWhereTheyAre) {
  Marked sim(4);
  for (const char* machine : {"g101", "g102"})
    ASSERT_TRUE(sim.Report(machine, O::kAutoscalerMarked).ok());
  sim.Resize(5);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(5));
  EXPECT_EQ(sim.Reason("AtTarget"), "UnderTarget");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("MARKED_BY_AUTOSCALER", "MARKED_BY_AUTOSCALER"));
  sim.Resize(3);  // it lowers the target by its victims
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g101")));
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g102")));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// --- while others leave to be replaced ---

// Who is marked goes before who leaves already: else the target is met by a Node that is on its way
// out, none comes for it, and the marked one stays, of no use to anybody.
TEST(AutoscalerMarks, ALoweredTargetIsNotMetByOneThatLeavesToBeReplaced) {
  for (const bool busy : {false, true}) {
    SCOPED_TRACE(busy);
    Marked sim(3);
    sim.stuck = {"g100"};
    sim.LoseOne();
    ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
    sim.SetActive("g102", busy);
    ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
    sim.Live();
    ASSERT_EQ(sim.node("g102")->state, NodeState::kProduction) << "the target asks for nobody yet";
    sim.Resize(2);
    sim.Live();
    EXPECT_EQ(sim.NodeMachines().contains("g102"), busy);
    sim.OthersTake(1);
    sim.stuck.clear();
    sim.Live();  // g100 has left
    if (busy) {
      EXPECT_EQ(sim.Waits(DeferReason::kWaitsUntilIdle),
                "1 Node more than wanted stay until they are idle (scaleDownStrategy IdleOnly) or "
                "unprotected.");
      EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
      sim.SetActive("g102", false);
      sim.Live();
    }
    sim.ExpectOneCame();
  }
}

// Nor by what is outstanding, which keeps its place.
TEST(AutoscalerMarks, ALoweredTargetIsNotMetByOneThatIsQueued) {
  for (const bool busy : {false, true}) {
    SCOPED_TRACE(busy);
    Marked sim(3);
    sim.OthersTake(97);
    sim.LoseOne();
    ASSERT_EQ(sim.pool()->status.queued_nodes, 1);
    sim.SetActive("g102", busy);
    ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
    sim.Live();
    sim.Resize(2);
    for (int i = 0; i < 20 && sim.node("g102") != nullptr; ++i) {
      sim.Pass();
      EXPECT_EQ(sim.pool()->status.queued_nodes, 1);
      sim.Agents();
      sim.Advance(absl::Seconds(1));
    }
    EXPECT_EQ(sim.node("g102") != nullptr, busy);
    sim.Live();
    if (busy) {
      EXPECT_EQ(sim.pool()->status.queued_nodes, 1);
      EXPECT_EQ(sim.node("g102")->state, NodeState::kProduction);
      sim.OthersLeave();
      sim.Live();
      EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
      sim.SetActive("g102", false);
      sim.Live();
    }
    sim.ExpectOneCame();
  }
}

// Also where it was to go and was awaited before the other one left.
TEST(AutoscalerMarks, WhoIsAwaitedIsNotLetStayForOneThatLeavesLater) {
  Marked sim(3);
  sim.SetActive("g102", true);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  sim.LoseOne();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102", "g103"));
  sim.SetActive("g102", false);
  sim.Live();
  sim.ExpectOneCame();
}

// That the target was lowered is in the rows: it is known whichever pass looks.
TEST(AutoscalerMarks, ALoweredTargetIsKnownAfterCapacityWasAway) {
  Marked sim(3);
  sim.stuck = {"g100"};
  sim.LoseOne();
  sim.SetActive("g102", true);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.capacity_away = true;
  sim.Resize(2);
  sim.Live();
  sim.capacity_away = false;
  sim.stuck.clear();
  sim.Live();
  sim.SetActive("g102", false);
  sim.Live();
  sim.ExpectOneCame();
}

// Work came to it: it is let stay, and goes once it is idle.
TEST(AutoscalerMarks, ANamedOneIsAskedAgainOnceItIsIdle) {
  Marked sim(3);
  sim.stuck = {"g100"};
  sim.LoseOne();
  const ResizeNodePool remove{.name = kSimPool, .remove_machines = {"g102"}};
  sim.Must(remove);
  ASSERT_EQ(sim.pool()->spec.target_nodes, 2);
  ASSERT_TRUE(sim.Pass());
  ASSERT_EQ(sim.node("g102")->state, NodeState::kCordoned);
  sim.Pass();
  EXPECT_EQ(sim.node("g102")->state, NodeState::kCordoned) << "the target did not rise";
  sim.SetActive("g102", true);
  sim.Live();
  EXPECT_EQ(sim.node("g102")->state, NodeState::kProduction);
  sim.Must(remove);
  EXPECT_EQ(sim.pool()->spec.target_nodes, 2) << "once";
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102", "g103"));
  sim.SetActive("g102", false);
  sim.Live();
  sim.ExpectOneCame();
}

// A target that rises by less than it was lowered asks for as many fewer.
TEST(AutoscalerMarks, ATargetThatRisesALittleAsksForTheOthersStill) {
  Marked sim(4);
  sim.OthersTake(96);
  sim.LoseOne();
  for (const char* machine : {"g102", "g103"}) {
    sim.SetActive(machine, true);
    ASSERT_TRUE(sim.Report(machine, O::kAutoscalerMarked).ok());
  }
  sim.Resize(2);
  sim.Live();
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 2);
  sim.Resize(3);
  sim.Live();
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 1);
  EXPECT_EQ(sim.pool()->status.queued_nodes, 1);
  for (const char* machine : {"g102", "g103"}) sim.SetActive(machine, false);
  sim.Live();
  EXPECT_THAT(sim.Obstacles(), Contains("MARKED_BY_AUTOSCALER"));
  sim.Resize(2);
  sim.Live();
  sim.ExpectOneCame();
}

TEST(AutoscalerMarks, OneThatItUnmarksIsNotAskedAnyMore) {
  Marked sim(3);
  sim.OthersTake(97);
  sim.LoseOne();
  sim.SetActive("g102", true);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  ASSERT_EQ(sim.pool()->account.prefill_nodes, 1);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerUnmarked).ok());
  sim.SetActive("g102", false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102"));
  EXPECT_EQ(sim.pool()->status.queued_nodes, 0);
  EXPECT_EQ(sim.holding(), 2);
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// Nobody comes for one that leaves for repair and is marked itself, and nobody else goes for that.
TEST(AutoscalerMarks, OneThatLeavesAlreadyIsNotReplacedIfItIsMarked) {
  Marked sim(4);
  sim.stuck = {"g100"};
  sim.LoseOne();
  for (const char* machine : {"g100", "g102"})
    ASSERT_TRUE(sim.Report(machine, O::kAutoscalerMarked).ok());
  sim.Resize(3);
  sim.Live();
  ASSERT_THAT(sim.NodeMachines(), Contains("g102"));
  EXPECT_EQ(sim.node("g102")->state, NodeState::kProduction);
  sim.SetActive("g102", true);
  sim.Resize(2);
  sim.Live();
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102", "g103"));
  sim.SetActive("g102", false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g103"));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// A machine that goes back while the spec changes otherwise tells of no lowered target.
TEST(AutoscalerMarks, ALabelAsksForNobody) {
  Marked sim(4);
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g103"}});
  for (int i = 0; i < 20 && sim.node("g103")->state != NodeState::kDeleted; ++i) {
    sim.Pass();
    sim.Advance(absl::Seconds(1));
    sim.Agents();
  }
  ASSERT_EQ(sim.node("g103")->state, NodeState::kDeleted);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Apply([](Spec& spec) { spec.node_labels = {{"team", "ml"}}; });
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101", "g102"));
  EXPECT_EQ(sim.node("g102")->state, NodeState::kProduction);
}

// Where nobody would come for those that leave, nobody else goes instead, until somebody would.
TEST(AutoscalerMarks, APoolThatAsksForNoMoreKeepsWhoIsNamed) {
  Marked sim(3);
  sim.stuck = {"g100"};
  sim.LoseOne();
  sim.Disable(kSimProfile);
  sim.Live();
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g102"}});
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102"));
  EXPECT_EQ(sim.holding(), 2);
  sim.OthersTake(1);
  sim.Enable(kSimProfile);
  sim.Live();
  sim.ExpectOneCame();
}

// It was to go, and its boot failed: nobody is asked for it, not even by the request that gives its
// machine back.
TEST(AutoscalerMarks, NobodyComesForOneThatWasToGoAndDidNotBoot) {
  Marked sim(2);
  sim.stuck = {"g102"};
  sim.Resize(3);
  sim.Live();
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g102"}});
  ASSERT_EQ(sim.pool()->account.prefill_nodes, 1);
  ASSERT_TRUE(sim.Report("g102", O::kBootFailed).ok());
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 0);
  sim.Live();
  EXPECT_EQ(sim.CountOf("CWNodeAssigned"), 3);
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101"));
}

// In any order: those that the target was lowered for have gone in the end, and of the others only
// those that were ill.
TEST(AutoscalerMarks, InTheEndTheMarkedHaveGoneAndNobodyElse) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto one_in = [&](uint64_t n) { return random() % n == 0; };
    const int64_t nodes = 4 + static_cast<int64_t>(random() % 3);
    Marked sim(nodes);
    if (one_in(2)) sim.OthersTake(200);
    std::vector<std::string> ill = {"g100", "g101"};
    std::vector<std::string> marked = {absl::StrCat("g", 99 + nodes),
                                       absl::StrCat("g", 98 + nodes)};
    int64_t target = nodes;
    for (int step = 0; step < 30; ++step) {
      const uint64_t what = random() % 6;
      if (what == 0 && !ill.empty()) {
        ASSERT_TRUE(sim.Report(ill.back(), O::kUnhealthy).ok());
        if (one_in(2)) sim.stuck.insert(ill.back());
        ill.pop_back();
      } else if (what == 1 && !marked.empty()) {
        sim.SetActive(marked.back(), one_in(2));
        ASSERT_TRUE(sim.Report(marked.back(), O::kAutoscalerMarked).ok());
        marked.pop_back();
        sim.Resize(--target);
      } else if (what == 2) {
        sim.Advance(sim.policy.triage_grace);
      } else if (what == 3) {
        sim.Live();
      } else {
        sim.Pass();
        sim.Agents();
      }
    }
    sim.stuck.clear();
    sim.OthersLeave();
    for (int i = 0; i < 6; ++i) {
      for (const std::string& machine : sim.NodeMachines()) sim.SetActive(machine, false);
      sim.Advance(sim.policy.give_up_interval);
      sim.Live();
    }
    EXPECT_THAT(sim.NodeMachines(), SizeIs(target));
    for (const std::string& machine : sim.NodeMachines())
      EXPECT_FALSE(sim.node(machine)->observed.autoscaler_marked) << machine;
    for (int64_t i = 102; i < 98 + nodes; ++i)
      EXPECT_THAT(sim.NodeMachines(), Contains(absl::StrCat("g", i)));
    EXPECT_EQ(sim.pool()->account.prefill_nodes, 0);
    EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
    EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
    if (HasFailure()) return;
  }
}

// --- what is said ---

// Marked while nobody is to go: it is there and takes no work.
TEST(AutoscalerMarks, APoolWhoseNodesCannotBeUsedIsNotAtItsTarget) {
  Marked sim(3);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Live();
  EXPECT_EQ(sim.Says("AtTarget"),
            "False/UnderTarget: 3 of 3 Nodes present, 1 marked for removal by the cluster "
            "autoscaler (g102).");
  const auto told = sim.CountOf("CWNodePoolScaledUp");
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerUnmarked).ok());
  sim.Live();
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.CountOf("CWNodePoolScaledUp"), told);
}

}  // namespace
}  // namespace muster::lifecycle
