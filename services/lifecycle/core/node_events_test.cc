#include "services/lifecycle/core/node_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeEventsTest : public ::testing::Test {
 protected:
  NodeEventsTest() {
    node_.machine = "g1";
    node_.state = NodeState::kProduction;
    node_.desired.phase = Phase::kRunning;
    node_.desired.node_profile = "np-1";
  }
  // `pool:` before what the pool is told.
  static std::vector<std::string> Reasons(const Node* before, const Node& after,
                                          absl::string_view why = "", bool timed_out = false) {
    std::vector<std::string> out;
    for (const EventToEmit& told : EventsOf(before, after, why, timed_out))
      out.push_back((told.on_pool ? "pool:" : "") + std::string(TextOf(told.reason)));
    return out;
  }
  std::vector<std::string> Reasons(const Node& after) const { return Reasons(&node_, after); }

  Node node_;
};

TEST_F(NodeEventsTest, EqualRowsTellNothing) { EXPECT_THAT(Reasons(node_), IsEmpty()); }

TEST_F(NodeEventsTest, OneThatComesToBootIsAssignedAndStaged) {
  node_.state = NodeState::kAssigned;
  EXPECT_THAT(Reasons(nullptr, node_), ElementsAre("pool:CWNodeAssigned", "CWConfigStaged"));
  node_.desired.phase = Phase::kUndecided;
  EXPECT_THAT(Reasons(nullptr, node_), ElementsAre("pool:CWNodeAssigned"));
}

// Events that go as they should are counted on one row of the pool; a warning says which Node.
TEST_F(NodeEventsTest, ThePoolIsToldOfANodeByNameOnlyWhenItIsAWarning) {
  Node after = node_;
  after.desired.cordoned = true;
  const auto normal = EventsOf(&node_, after, "");
  ASSERT_EQ(normal.size(), 2U);
  EXPECT_EQ(normal[0].message, "Node g1 was cordoned.");
  EXPECT_EQ(normal[1].message, "A Node was cordoned.");
  after = node_;
  after.observed.drain_blocked_by = "budget `web`";
  const auto warning = EventsOf(&node_, after, "");
  ASSERT_EQ(warning.size(), 2U);
  EXPECT_EQ(warning[1].message, "Node g1 cannot be drained: budget `web`.");
}

TEST_F(NodeEventsTest, AFailedBootIsToldByHowFarItCame) {
  Node failed = node_;
  failed.state = NodeState::kDeliveryFailed;
  node_.state = NodeState::kBooting;
  EXPECT_THAT(Reasons(&node_, failed, "no image"), ElementsAre("pool:CWNodeDeliverFail"));
  EXPECT_THAT(Reasons(&node_, failed, "", true), ElementsAre("CWNodeRegistrationFailed"));
  node_.state = NodeState::kRegistered;
  EXPECT_THAT(Reasons(failed),
              ElementsAre("CWNodeBootFailed", "pool:CWNodeBootFailed",
                          "pool:CWNodeDeletionRequestSuccess", "pool:CWNodeDeleted"));
  node_.state = NodeState::kReconfiguring;
  EXPECT_THAT(EventsOf(&node_, failed, "it is away")[0].message,
              HasSubstr("did not come up from its reboot into configuration np-1: it is away."));
}

// Such as a boot into what is rolled back from, which is ended for no cause that a Node has.
TEST_F(NodeEventsTest, WhoIsEndedBeforeItHasBootedIsToldWithTheReason) {
  node_.state = NodeState::kBooting;
  Node aborted = node_;
  aborted.state = NodeState::kPreparedForTerminate;
  EXPECT_THAT(Reasons(aborted),
              ElementsAre("pool:CWNodeDeletionRequestSuccess", "CWNodeMarkedPrepareForTerminate",
                          "pool:CWNodeMarkedPrepareForTerminate", "CWNodePreparedForTerminate",
                          "pool:CWNodePreparedForTerminate"));
  EXPECT_EQ(EventsOf(&node_, aborted, "it boots what is rolled back from")[1].message,
            "Node g1 is to be terminated: it boots what is rolled back from.");
  Node gone = aborted;
  gone.state = NodeState::kDeleted;
  EXPECT_THAT(Reasons(&aborted, gone), ElementsAre("pool:CWNodeDeleted"));
  // One that was never told to boot is gone at once.
  node_.state = NodeState::kAssigned;
  EXPECT_THAT(Reasons(gone),
              ElementsAre("pool:CWNodeDeletionRequestSuccess", "pool:CWNodeDeleted"));
}

TEST_F(NodeEventsTest, APreemptionIsToldAsARemovalOnceItCannotBeTakenBack) {
  Node cordoned = node_;
  cordoned.state = NodeState::kCordoned;
  cordoned.removal_cause = RemovalCause::kPreemption;
  cordoned.preempt_time = absl::FromUnixSeconds(1);
  EXPECT_THAT(Reasons(cordoned), ElementsAre("Preemption pending"));
  Node draining = cordoned;
  draining.state = NodeState::kDraining;
  EXPECT_THAT(Reasons(&cordoned, draining),
              ElementsAre("pool:CWNodeDeletionRequestSuccess", "CWNodeMarkedPrepareForTerminate",
                          "pool:CWNodeMarkedPrepareForTerminate"));
  Node gone = draining;
  gone.state = NodeState::kDeleted;
  EXPECT_THAT(Reasons(&draining, gone),
              ElementsAre("Deleted for preemption", "pool:CWNodeDeleted"));
}

TEST_F(NodeEventsTest, ARelapseInTriageIsToldWithTheFirst) {
  Node ill = node_;
  ill.observed.unhealthy = true;
  EXPECT_THAT(Reasons(ill), ElementsAre("CWNodeUnhealthy"));
  node_.state = ill.state = NodeState::kTriage;
  EXPECT_THAT(Reasons(ill), IsEmpty());
}

TEST_F(NodeEventsTest, AReconfigureRebootIsStagedAndEnds) {
  Node reboots = node_;
  reboots.state = NodeState::kReconfiguring;
  reboots.desired.node_profile = "np-2";
  EXPECT_THAT(Reasons(reboots), ElementsAre("CWConfigStaged"));
  Node back = reboots;
  back.state = NodeState::kProduction;
  back.observed.node_profile = "np-2";
  const auto told = EventsOf(&reboots, back, "");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].message, "Node g1 was rebooted into configuration np-2.");
}

}  // namespace
}  // namespace muster::lifecycle
