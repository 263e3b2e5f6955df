#include "services/lifecycle/core/quiet_nodes.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/node_machine.h"
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

// What CountsTheSame does not leave out; a report that an agent sends again and again is about the
// rest.
TEST(QuietNodes, CountTheSameWhateverTheirWorkIs) {
  Running sim(1);
  const Node before = *sim.node("g100");
  sim.SetActive("g100", true);
  EXPECT_TRUE(CountsTheSame(before, *sim.node("g100")));
  EXPECT_TRUE(CountsTheSame(*sim.node("g100"), before));
  using Change = std::function<void(Node&)>;
  const std::pair<const char*, Change> changes[] = {
      {"another life", [](Node& n) { n.create_time += absl::Seconds(1); }},
      {"another state", [](Node& n) { n.state = NodeState::kRegistered; }},
      {"unhealthy", [](Node& n) { n.observed.unhealthy = true; }},
      {"marked", [](Node& n) { n.observed.autoscaler_marked = true; }},
      {"named", [](Node& n) { n.removal_requested = true; }},
      {"protected", [](Node& n) { n.protect_until_time = absl::UnixEpoch(); }},
      {"booted something else", [](Node& n) { n.observed.node_profile = kNewerProfile; }},
      {"another boot", [](Node& n) { n.observed.boot_id = "b2"; }},
      {"another rack", [](Node& n) { n.rack = "elsewhere"; }},
      {"cordoned", [](Node& n) { n.desired.cordoned = true; }},
      {"not registered", [](Node& n) { n.conditions[0].status = "False"; }},
      {"no condition", [](Node& n) { n.conditions.pop_back(); }},
      {"said by a later release", [](Node& n) { n.later = "x"; }},
  };
  for (const auto& [what, change] : changes) {
    Node after = before;
    change(after);
    EXPECT_FALSE(CountsTheSame(before, after)) << what;
  }
}

TEST(QuietNodes, CountTheSameFromTheirGrantUntilTheyRegister) {
  Node assigned;
  assigned.state = NodeState::kAssigned;
  Node booting = assigned;
  ASSERT_TRUE(Step(booting, NodeEvent::kBootStarted, absl::UnixEpoch()).ok());
  UpdateConditions(assigned, absl::UnixEpoch());
  EXPECT_TRUE(CountsTheSame(assigned, booting));
  Node registered = booting;
  ASSERT_TRUE(Step(registered, NodeEvent::kRegistered, absl::UnixEpoch()).ok());
  EXPECT_FALSE(CountsTheSame(booting, registered));
}

}  // namespace
}  // namespace muster::lifecycle
