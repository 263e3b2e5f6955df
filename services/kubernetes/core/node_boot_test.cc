#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/testing/node_plan.h"
#include "services/kubernetes/core/testing/objects.h"

// Which boot of a machine is told of, by its id, and in which profile it is.
namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kWanted[] = "np-0123456789ab";
constexpr char kBefore[] = "np-ba9876543210";

// A Node that Muster last saw in boot-1 with `seen`.
class BootTest : public ::testing::Test {
 protected:
  void Begin(Node::State state, const std::string& seen) {
    node_ = MakeNode(state);
    node_.mutable_observed()->set_node_profile(seen);
    node_.mutable_observed()->set_boot_id("boot-1");
    object_ = Joined(true);
    object_.boot_id = "boot-1";
  }
  // Its provisioner has told that it is up again.
  void TellBoot() { *node_.mutable_observed()->mutable_boot_time() = Stamp(kThen - 60); }
  void Runs(const std::string& profile) { object_.annotations[kProfileAnnotation] = profile; }
  NodePlan Now() const { return Plan(node_, &object_); }
  // Of the one report that there is to be.
  std::string RegisteredWith() const {
    const NodePlan plan = Now();
    EXPECT_THAT(Observations(plan), ElementsAre(kRegistered));
    return plan.reports.empty() ? "" : plan.reports[0].node_profile();
  }

  Node node_;
  NodeObject object_;
};

// "A running Node changes only by a reconfigure reboot": which is over with another boot, in what
// was desired if the Node does not say what it runs.
TEST_F(BootTest, AReconfigurationIsOverWithAnotherBoot) {
  Begin(Node::STATE_RECONFIGURING, kBefore);
  EXPECT_THAT(Now().reports, IsEmpty()) << "it is yet to go down";
  object_.boot_id = "boot-2";
  EXPECT_EQ(RegisteredWith(), kWanted);
  object_.boot_id = "";
  EXPECT_THAT(Now().reports, IsEmpty()) << "which boot it is is not known";
  node_.mutable_observed()->clear_boot_id();
  object_.boot_id = "boot-2";
  EXPECT_THAT(Now().reports, IsEmpty()) << "nor which it was";
}

// "During a reboot of ours it says what it ran before, and which boot, until it is back."
TEST_F(BootTest, WhatIsSaidInTheBootBeforeIsNotOfTheNextOne) {
  Begin(Node::STATE_RECONFIGURING, kBefore);
  Runs(kWanted);
  EXPECT_THAT(Now().reports, IsEmpty());
  TellBoot();
  EXPECT_EQ(RegisteredWith(), kWanted) << "whoever powers it knows better";
}

TEST_F(BootTest, ItIsNotReadyInAnotherProfileThanIsDesired) {
  Begin(Node::STATE_RECONFIGURING, kBefore);
  TellBoot();
  EXPECT_THAT(Now().reports, IsEmpty());
  node_.mutable_observed()->set_node_profile(kWanted);
  EXPECT_THAT(Observations(Now()), ElementsAre(kReady));
}

// Without a time of its kubelet nothing says that what it tells is old.
TEST_F(BootTest, WhoTellsNoTimeIsBelieved) {
  Begin(Node::STATE_RECONFIGURING, kWanted);
  TellBoot();
  object_.boot_id = "boot-2";
  object_.heartbeat_time = absl::InfinitePast();
  EXPECT_THAT(Observations(Now()), ElementsAre(kReady));
}

// "It may be booted by others, e.g. power-cycled, and comes up in what was staged."
TEST_F(BootTest, ABootOfOthersIsToldOnceWithWhatItRuns) {
  for (const bool booted_before : {false, true}) {
    Begin(Node::STATE_PRODUCTION, kWanted);
    if (booted_before) TellBoot();
    EXPECT_THAT(Now().reports, IsEmpty()) << "the boot that is known";
    object_.boot_id = "";
    EXPECT_THAT(Now().reports, IsEmpty()) << "it does not say which it is";
    object_.boot_id = "boot-2";
    EXPECT_EQ(RegisteredWith(), kWanted);
    EXPECT_EQ(Now().reports.at(0).boot_id(), "boot-2");
    object_.boot_id = "boot-1";
    Runs(kBefore);
    EXPECT_EQ(RegisteredWith(), kBefore) << "it says another profile";
  }
  Begin(Node::STATE_PRODUCTION, "");
  object_.boot_id = "boot-2";
  EXPECT_THAT(Now().reports, IsEmpty()) << "nobody knows what it runs";
}

// Nothing is put onto what is not told to run: its object is of the life before.
TEST_F(BootTest, NothingIsWrittenWhereItIsNotToldToRun) {
  for (const Node::State state : {Node::STATE_ASSIGNED, Node::STATE_BOOTING}) {
    Begin(state, "");
    node_.mutable_desired()->set_phase(lifecycle::v1::NodeDesired::PHASE_TERMINATED);
    EXPECT_THAT(Now().reports, IsEmpty()) << state;
    EXPECT_FALSE(Now().writes()) << state;
  }
}

TEST_F(BootTest, OneThatJoinsWhileMusterIsDoubtedIsRegistered) {
  Begin(Node::STATE_BOOTING, "");
  const NodePlan plan = PlanNode({.node = &node_, .object = &object_, .doubted = true});
  EXPECT_THAT(Observations(plan), ElementsAre(kRegistered, kReady));
}

}  // namespace
}  // namespace muster::kubernetes
