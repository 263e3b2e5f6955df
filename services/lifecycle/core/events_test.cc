#include "services/lifecycle/core/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/state.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;

TEST(Events, EqualOnesAreCounted) {
  State state;
  StagedState<State> staged(state, 0);
  EventLog log(staged, absl::FromUnixSeconds(1));
  log.Emit("uid-1", kSimPool, EventReason::kOverQuota, "m");
  log.Emit("uid-1", kSimPool, EventReason::kOverQuota, "m");
  log.Emit("uid-1", kSimPool, EventReason::kNodeAssigned, "m");
  ASSERT_EQ(state.table<Event>().size(), 2U);
  const Event& counted = *state.table<Event>().Find(
      EventName(ClusterNameOf(kSimPool), EventId("uid-1", kSimPool, "CWOverQuota", "m")));
  EXPECT_EQ(counted.count, 2);
  EXPECT_EQ(counted.type, "Warning");
  EXPECT_EQ(counted.first_time, absl::FromUnixSeconds(1));
  EXPECT_EQ(counted.last_time, absl::FromUnixSeconds(1) + absl::Microseconds(1));
}

// Semantics 8.
TEST(Events, WhatDoesNotGoAsItShouldIsAWarning) {
  std::vector<absl::string_view> warnings;
  for (const EventReasonRow& row : kEventReasons)
    if (row.type == EventType::kWarning) warnings.push_back(row.text);
  EXPECT_THAT(
      warnings,
      ElementsAre("CWInstanceTypeNotInZone", "CWInsufficientCapacity", "CWInvalidInstanceType",
                  "CWNodeDeliverFail", "CWNodePoolDisabled", "CWNodePoolNodesRemoveError",
                  "CWNodePoolNodesRequestFailed", "CWNodePoolQuotaCheckFailed",
                  "CWNodeRegistrationFailed", "CWOverQuota", "CWNodeDrainingPDBViolation",
                  "CWNodeDrainingForceDelete", "CWNodePoolNoPendingConfiguration",
                  "CWNodePoolNodeConfigRollbackFailed", "CWNodePoolNodeConfigUpdateConflict",
                  "CWNodeConfigStagingFailed", "Preemption pending", "Preemption in progress",
                  "Deleted for preemption", "CWNodeBootFailed", "CWNodeUnhealthy",
                  "CWNodePoolReconfigureHalted", "CWNodePoolMaxNodesUnreachable"));
  EXPECT_EQ(TextOf(EventType::kWarning), "Warning");
  EXPECT_EQ(TextOf(EventType::kNormal), "Normal");
}

TEST(Events, TheOldestGoes) {
  State state;
  StagedState<State> staged(state, 0);
  EventLog log(staged, absl::FromUnixSeconds(1));
  for (size_t i = 0; i < kMaxEventsAPool + 5; ++i) {
    log.Emit("uid-1", kSimPool, EventReason::kNodeAssigned, std::to_string(i));
  }
  EXPECT_EQ(state.table<Event>().size(), kMaxEventsAPool - kForgottenEvents + 5);
  EXPECT_EQ(state.EventsOf("uid-1")->size(), kMaxEventsAPool - kForgottenEvents + 5);
  EXPECT_EQ(state.table<Event>().Find(EventName(
                ClusterNameOf(kSimPool), EventId("uid-1", kSimPool, "CWNodeAssigned", "99"))),
            nullptr);
}

// A cluster may be called as a collection is.
TEST(Events, APoolsOwnOutlastItsNodesInAClusterNamedNodes) {
  const std::string pool = "organizations/acme/clusters/nodes/nodePools/train";
  State state;
  StagedState<State> staged(state, 0);
  EventLog log(staged, absl::FromUnixSeconds(1));
  log.Emit("uid-1", pool, EventReason::kNodePoolCreated, "m");
  log.Emit("uid-1", pool, EventReason::kNodePoolScaledUp, "m");
  for (size_t i = 0; i < kMaxEventsAPool; ++i) {
    log.Emit("uid-1", NodeName(pool, "g1"), EventReason::kNodeAssigned, std::to_string(i));
  }
  ASSERT_LT(state.EventsOf("uid-1")->size(), kMaxEventsAPool) << "some were forgotten";
  EXPECT_NE(state.table<Event>().Find(
                EventName(ClusterNameOf(pool), EventId("uid-1", pool, "CWNodePoolCreated", "m"))),
            nullptr);
}

}  // namespace
}  // namespace muster::lifecycle
