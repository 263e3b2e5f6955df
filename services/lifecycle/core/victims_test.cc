#include "services/lifecycle/core/victims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;

Node N(const char* name, NodeState state, bool active = false, int seconds = 0, int pods = 1) {
  Node node{.name = name, .state = state, .create_time = absl::FromUnixSeconds(seconds)};
  node.observed.active = active;
  if (active) node.observed.active_pods.resize(static_cast<size_t>(pods));
  return node;
}

TEST(Victims, Order) {
  std::vector<Node> nodes = {
      N("leaving", NodeState::kDraining),
      N("failed", NodeState::kDeliveryFailed),
      N("busy-new", NodeState::kProduction, true, 9),
      N("busy-old", NodeState::kProduction, true, 1),
      N("busier", NodeState::kProduction, true, 99, 5),
      N("idle-short", NodeState::kProduction, false, 8),
      N("idle-long", NodeState::kProduction, false, 2),
      N("triage", NodeState::kTriage),
      N("registered", NodeState::kRegistered),
      N("assigned", NodeState::kAssigned),
      N("marked", NodeState::kProduction),
  };
  nodes.back().observed.autoscaler_marked = true;
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  std::vector<std::string> names;
  for (const Node* node : VictimsInOrder(all)) names.push_back(node->name);
  EXPECT_THAT(names, ElementsAre("marked", "assigned", "registered", "triage", "idle-long",
                                 "idle-short", "busy-new", "busy-old", "busier"));
}

// "unhealthy, cordoned, idle"
TEST(Victims, WhatTakesNoWorkGoesBeforeWhatIsIdleForLongest) {
  std::vector<Node> nodes = {N("idle-long", NodeState::kProduction, false, 1),
                             N("by-somebody", NodeState::kProduction, false, 8),
                             N("by-order", NodeState::kProduction, false, 9)};
  nodes[1].observed.unschedulable = true;
  nodes[2].orders.cordon_time = absl::FromUnixSeconds(9);
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  std::vector<std::string> names;
  for (const Node* node : VictimsInOrder(all)) names.push_back(node->name);
  EXPECT_THAT(names, ElementsAre("by-order", "by-somebody", "idle-long"));
}

// Who takes no new work and has some is not idle.
TEST(Victims, WhatIsCordonedAndHasWorkGoesAfterWhatIsIdle) {
  std::vector<Node> nodes = {N("by-order", NodeState::kProduction, true, 1),
                             N("by-somebody", NodeState::kProduction, true, 2),
                             N("idle", NodeState::kProduction, false, 9)};
  nodes[0].orders.cordon_time = absl::FromUnixSeconds(9);
  nodes[1].observed.unschedulable = true;
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  std::vector<std::string> names;
  for (const Node* node : VictimsInOrder(all)) names.push_back(node->name);
  EXPECT_THAT(names, ElementsAre("idle", "by-somebody", "by-order"));  // of equals the newest first
}

}  // namespace
}  // namespace muster::lifecycle
