#include "services/lifecycle/core/quiet_nodes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/lifecycle/core/plan_draft.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

TEST(QuietNodes, AreCountedUntilTheyAreLookedAt) {
  Running sim(3);
  const Snapshot snapshot = sim.Look();
  const PlanFacts facts(snapshot);
  Draft draft(facts);
  const std::string name = snapshot.nodes[1]->name;
  EXPECT_EQ(draft.quiet.in_production(), 3);
  EXPECT_EQ(draft.quiet.PresentOn(kSimProfile), 3);
  EXPECT_TRUE(draft.Has(name));
  Node& node = draft.LookAt(name);
  EXPECT_EQ(node.name, name);
  EXPECT_EQ(draft.quiet.size(), 2);
  EXPECT_EQ(draft.quiet.PresentOn(kSimProfile), 2);
  EXPECT_EQ(draft.KeptNodes(), 3);
  EXPECT_TRUE(draft.Step(node, NodeEvent::kCordon, "why not", RemovalCause::kScaleDown));
  EXPECT_EQ(&draft.LookAt(name), &node);
  EXPECT_EQ(draft.KeptNodes(), 2);
  EXPECT_EQ(draft.size(), 3);
  const std::vector<const Node*> all = draft.Nodes();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1], &node);
  EXPECT_EQ(all[2], snapshot.nodes[2]);
}

}  // namespace
}  // namespace muster::lifecycle
