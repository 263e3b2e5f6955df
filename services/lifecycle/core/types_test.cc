#include "services/lifecycle/core/types.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

TEST(JournalBytes, OfALargeRowSayHowLargeItsJournalEntryIs) {
  State state;
  StagedState<State> staged(state, 0);
  const auto last = [&] { return staged.changes().back().change.JournalBytes(); };
  Pool pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"};
  pool.spec.node_labels = {{"team", "research"}};
  staged.Put(pool);
  EXPECT_LT(last(), 100U);
  pool.spec.node_annotations = {{"a", std::string(kMaxAnnotationBytes - 1, 'x')}};
  pool.spec.node_taints = {{.key = std::string(300, 'k'), .value = "v", .effect = "NoSchedule"}};
  pool.spec.node_affinity = {{{.key = "k", .op = "In", .values = {std::string(1'000, 'v')}}}};
  staged.Put(pool);
  EXPECT_GT(last(), kMaxAnnotationBytes + 1'300);
  pool.reconfiguration = Reconfiguration{.machines = std::vector<std::string>(1'000, "g1")};
  staged.Put(pool);
  EXPECT_GT(last(), kMaxAnnotationBytes + 1'300 + 2'000);
  Node node{.name = NodeName(kSimPool, "g1")};
  staged.Put(node);
  EXPECT_EQ(last(), 0U);
  node.desired.annotations = pool.spec.node_annotations;
  node.observed.active_pods = {std::string(200, 'p')};
  staged.Put(node);
  EXPECT_GT(last(), kMaxAnnotationBytes + 200);
  // What an agent said stands in the row more than once.
  const size_t before = last();
  node.observed.removal_error = std::string(1'000, 'e');
  node.conditions = {{.type = "CWActive", .message = std::string(2'000, 'p')}};
  staged.Put(node);
  EXPECT_GE(last(), before + 3'000);
  staged.Delete<Node>(node.name);
  EXPECT_EQ(last(), 0U);
}

// What an agent said stands in the conditions of its pool, too.
TEST(JournalBytes, OfAPoolCountWhatItsConditionsSay) {
  const Pool calm{.name = kSimPool};
  Pool told = calm;
  told.status.conditions = {{.type = "NodesRemoved", .message = std::string(5'000, 'e')}};
  told.status.summary = {{.type = "Ready", .message = std::string(5'000, 'e')}};
  EXPECT_EQ(told.JournalBytes(), calm.JournalBytes() + 10'000);
}

}  // namespace
}  // namespace muster::lifecycle
