#include "services/lifecycle/core/budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::lifecycle {
namespace {

TEST(Budget, NodesThatAreGoneAlreadyAreNoPartOfAPercentage) {
  std::vector<Node> nodes(8, Node{.state = NodeState::kProduction});
  for (size_t i = 5; i < 8; ++i) nodes[i].state = NodeState::kDeleted;
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  EXPECT_EQ(Budget("25%", 2, all).limit(), 1);
  EXPECT_EQ(Budget("25%", 8, all).limit(), 2);
}

}  // namespace
}  // namespace muster::lifecycle
