// The condition NodeReconfigurationRequired; see also render_test.cc, by the sentences of the
// reference.
#include <gtest/gtest.h>

#include "services/lifecycle/core/render.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

// "All nodes are on the current configuration.": said when it is so.
TEST(ReferenceUpToDate, IsNotSaidUntruly) {
  constexpr char kType[] = "NodeReconfigurationRequired";
  Running empty(0);
  EXPECT_EQ(empty.Says(kType), "False/AllNodesUpToDate: NodePool has no Nodes.");
  Outdated leaving(2);
  leaving.stuck = {"g101"};
  leaving.Ask({.machines = {"g100"}});
  leaving.Live();
  leaving.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g101"}});
  leaving.Live();
  ASSERT_EQ(leaving.node("g101")->state, NodeState::kDraining);
  EXPECT_EQ(leaving.Says(kType),
            "False/AllNodesUpToDate: All nodes that stay are on the current configuration; 1 that "
            "leaves is not.");
  // What reboots into what was rolled back from is not where it was seen before.
  Outdated booting(1);
  booting.stuck = {"g100"};
  booting.Ask({.machines = {"g100"}});
  booting.Live();
  ASSERT_EQ(booting.node("g100")->state, NodeState::kReconfiguring);
  booting.RollBackTo(kSimProfile);
  booting.Live();
  ASSERT_EQ(booting.pool()->status.node_profile, kSimProfile);
  EXPECT_EQ(booting.Says(kType),
            "True/StagedNodeConfig: 1 of 1 Node must be reconfigure-rebooted to reach "
            "np-000000000001. Reconfigure reboots are under way.");
}

}  // namespace
}  // namespace muster::lifecycle
