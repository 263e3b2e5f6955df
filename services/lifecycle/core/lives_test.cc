// Whole lives: what is told of the pool and of the Node, in order, each once, however many passes
// are made, restarts happen and reports are repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using Words = std::vector<std::string>;
using O = ReportNode::Observation;

const Words kUp = {"CWNodeRequestQueued", "CWNodeAssigned", "CWNodeRegistered"};
const Words kOut = {"CWNodeTainted", "CWNodePreparedForTerminate", "CWNodeDeleted",
                    "CWNodePoolNodesRemoved"};

Words Join(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A world in which every pass dies once before it is carried out, every report is said twice, and
// passes are made that nobody needs.
struct Restless : Simulation {
  void Live() {
    for (int quiet = 0, i = 0; quiet < 3; ++i) {
      if (i > 500) std::abort();
      Pass(/*dies=*/true);
      bool moved = Pass();
      for (const Node* node : state().NodesOf(kSimPool)) {
        const auto report = NextReport(*node);
        if (!report || !Run(*report).ok()) continue;
        moved = true;
        (void)Run(*report);
      }
      if (moved) continue;
      ++quiet;
      if (last_plan.due < now() + absl::Minutes(10)) {
        quiet = 0;
        Advance(std::max(absl::ZeroDuration(), last_plan.due - now()));
      }
    }
  }
  void Begin() { begin = told().size(); }
  void ExpectTold(const Words& pool, const Words& node) const {
    EXPECT_THAT(ReasonsSince(begin), ElementsAreArray(pool));
    EXPECT_THAT(ReasonsSince(begin, "g100"), ElementsAreArray(node));
    std::set<std::string> seen;
    for (size_t i = begin; i < told().size(); ++i) {
      const Told& t = told()[i];
      EXPECT_TRUE(seen.insert(absl::StrCat(t.object, " ", t.reason, " ", t.message)).second)
          << t.message;
    }
  }
  size_t begin = 0;
};

struct Up : Restless {
  Up() {
    Create(1);
    Live();
    Begin();
  }
};

TEST(Lives, Up) {
  Restless sim;
  sim.Create(1);
  sim.Live();
  sim.ExpectTold(Join({{"CWNodePoolCreated"}, kUp, {"CWNodePoolScaledUp"}}),
                 {"CWConfigStaged", "CWNodeRegistered"});
}

TEST(Lives, Down) {
  Up sim;
  sim.Resize(0);
  sim.Live();
  sim.ExpectTold(
      Join({{"CWNodePoolRemoveNodes", "CWNodeDeletionRequestSuccess",
             "CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWDrainNode", "CWNodeDraining"},
            kOut,
            {"CWNodePoolScaledDown"}}),
      {"CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWNodeDraining", "CWNodeTainted",
       "CWNodePreparedForTerminate"});
}

TEST(Lives, Replaced) {
  Up sim;
  ASSERT_TRUE(sim.Report("g100", O::kUnhealthy, "Xid 79").ok());
  sim.Live();
  sim.ExpectTold(
      Join({{"CWNodeCordoned", "CWNodeTainted", "CWNodeDeletionRequestSuccess",
             "CWNodeMarkedPrepareForTerminate", "CWDrainNode", "CWNodeDraining"},
            {"CWNodePreparedForTerminate", "CWNodeDeleted", "CWNodePoolNodesRemoved"},
            {"CWNodeAssigned", "CWNodeRegistered"}}),
      {"CWNodeUnhealthy", "CWNodeCordoned", "CWNodeTainted", "CWNodeMarkedPrepareForTerminate",
       "CWNodeDraining", "CWNodePreparedForTerminate"});
}

TEST(Lives, Preempted) {
  Restless sim;
  sim.ApplySpot(1);
  sim.Live();
  sim.Begin();
  sim.OthersTake(200);
  sim.Reclaim("g100", sim.now());
  sim.Live();
  sim.ExpectTold(Join({{"CWNodeCordoned", "CWNodeDeletionRequestSuccess",
                        "CWNodeMarkedPrepareForTerminate", "CWDrainNode", "CWNodeDraining"},
                       kOut,
                       {"CWInsufficientCapacity"}}),
                 {"Preemption pending", "CWNodeCordoned", "CWNodeMarkedPrepareForTerminate",
                  "Preemption in progress", "CWNodeDraining", "CWNodeTainted",
                  "CWNodePreparedForTerminate", "Deleted for preemption"});
}

TEST(Lives, Reconfigured) {
  Up sim;
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  sim.Live();
  sim.ExpectTold(
      {"CWNodeConfigStaged", "CWNodePoolReconfigureStarted", "CWNodeCordoned", "CWNodeTainted",
       "CWNodeUncordoned", "CWNodeUntainted", "CWNodePoolReconfigureDone"},
      {"CWNodeCordoned", "CWNodeTainted", "CWConfigStaged", "CWNodeUncordoned", "CWNodeUntainted",
       "CWReconfigureRebooted"});
}

TEST(Lives, Deleted) {
  Up sim;
  sim.Delete();
  sim.Live();
  ASSERT_EQ(sim.pool(), nullptr);
  sim.ExpectTold(
      Join({{"CWNodePoolRemoveNodes", "CWNodeDeletionRequestSuccess",
             "CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWDrainNode", "CWNodeDraining"},
            kOut,
            {"CWNodePoolDeleted"}}),
      {"CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWNodeDraining", "CWNodeTainted",
       "CWNodePreparedForTerminate"});
}

}  // namespace
}  // namespace muster::lifecycle
