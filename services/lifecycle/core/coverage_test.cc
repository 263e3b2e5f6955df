// Which test covers which event of the reference and which reason of which condition; fails when
// all tests ran and one is covered by none.
#include "services/lifecycle/core/testing/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "services/common/event_reasons.h"
#include "services/common/first_edition.h"

namespace muster::lifecycle {
namespace {

// the public reference of NodePools, "Events", with its "Resource" column; the three of
// spot-node-pools.txt; ours.
struct EventRow {
  const char* reason;
  bool on_node;
  bool on_pool;
};
constexpr EventRow kEvents[] = {
    {"CWDrainNode", false, true},
    {"CWInstanceTypeNotInZone", false, true},
    {"CWInsufficientCapacity", false, true},
    {"CWInvalidInstanceType", false, true},
    {"CWNodeAssigned", false, true},
    {"CWNodeDeleted", false, true},
    {"CWNodeDeletionRequestSuccess", false, true},
    {"CWNodeDeliverFail", false, true},
    {"CWNodePoolCreated", false, true},
    {"CWNodePoolDeleted", false, true},
    {"CWNodePoolDisabled", false, true},
    {"CWNodePoolMetadata", false, true},
    {"CWNodePoolNodesRemoved", false, true},
    {"CWNodePoolNodesRemoveError", false, true},
    {"CWNodePoolNodesRequestFailed", false, true},
    {"CWNodePoolQuotaCheckFailed", false, true},
    {"CWNodePoolRemoveNodes", false, true},
    {"CWNodePoolScaledDown", false, true},
    {"CWNodePoolScaledUp", false, true},
    {"CWNodeRegistered", true, true},
    {"CWNodeRegistrationFailed", true, false},
    {"CWNodeRequestQueued", false, true},
    {"CWOverQuota", false, true},
    {"CWNodeCordoned", true, true},
    {"CWNodeUncordoned", true, true},
    {"CWNodeMarkedPrepareForTerminate", true, true},
    {"CWNodeDraining", true, true},
    {"CWNodeDrainingPDBViolation", true, true},
    {"CWNodeDrainingForceDelete", true, true},
    {"CWNodePreparedForTerminate", true, true},
    {"CWNodeTainted", true, true},
    {"CWNodeUntainted", true, true},
    {"CWNodeConfigStaged", false, true},
    {"CWPendingNodeConfig", false, true},
    {"CWConfigStaged", true, false},
    {"CWReconfigureRebooted", true, false},
    {"CWNodePoolNodeConfigUpdatePending", false, true},
    {"CWNodePoolNodeConfigUpdated", false, true},
    {"CWNodePoolNoPendingConfiguration", false, true},
    {"CWNodePoolNodeConfigRollbackFailed", false, true},
    {"CWNodePoolNodeConfigUpdateConflict", false, true},
    {"CWNodeConfigStagingFailed", true, false},
    {"CWManualUpgradeTrigger", false, true},
    {"CWManualRollbackTrigger", false, true},
    {"Preemption pending", true, false},
    {"Preemption in progress", true, false},
    {"Deleted for preemption", true, false},
    // Ours (lifecycle.proto, Event.reason).
    {"CWNodeBootFailed", true, true},
    {"CWNodeUnhealthy", true, false},
    {"CWNodeOrdered", true, false},
    {"CWNodePoolReconfigureStarted", false, true},
    {"CWNodePoolReconfigurePaused", false, true},
    {"CWNodePoolReconfigureHalted", false, true},
    {"CWNodePoolReconfigureResumed", false, true},
    {"CWNodePoolReconfigureDone", false, true},
    {"CWNodePoolReconfigureCancelled", false, true},
    {"CWNodePoolMaxNodesUnreachable", false, true},
};

// Semantics 3, and the conditions of Nodes.
constexpr const char* kConditions[] = {
    "Validated/Valid",
    "Validated/Invalid",
    "Validated/InternalError",
    "Quota/Under",
    "Quota/Over",
    "Quota/NotSet",
    "Quota/InternalError",
    "Capacity/Sufficient",
    "Capacity/QueuedAwaitingCapacity",
    "Capacity/Partial",
    "Capacity/NoneAvailable",
    "Capacity/PartialNodeAffinity",
    "Capacity/NoneAvailableNodeAffinity",
    "Capacity/InternalError",
    "AtTarget/TargetMet",
    "AtTarget/UnderTarget",
    "AtTarget/OverTarget",
    "AtTarget/PendingDelete",
    "AtTarget/InternalError",
    "NodesRemoved/Pending",
    "NodesRemoved/Complete",
    "NodesRemoved/InternalError",
    "NodeReconfigurationRequired/AllNodesUpToDate",
    "NodeReconfigurationRequired/StagedNodeConfig",
    "NodeReconfigurationRequired/InternalError",
    "MaxNodesUnreachable/Quota",
    "MaxNodesUnreachable/Capacity",
    "CWRegistered/Registered",
    "CWRegistered/NotRegistered",
    "CWActive/Active",
    "CWActive/Idle",
    "CWNodeRemoval/PendingRemoval",
    "CWNodeRemoval/NotPendingRemoval",
};

TEST(EventReasons, AreThoseOfTheReference) {
  std::vector<absl::string_view> told;
  for (const EventReasonRow& row : kEventReasons) told.push_back(row.text);
  std::vector<absl::string_view> wanted;
  for (const EventRow& event : kEvents) wanted.emplace_back(event.reason);
  EXPECT_THAT(told, ::testing::UnorderedElementsAreArray(wanted));
}

// No event changed its name here and kept it there.
TEST(EventReasons, WhatTheFirstEditionNamesIsTold) {
  for (const FirstEditionEvent& first : FirstEditionEvents()) {
    const auto* event =
        std::find_if(std::begin(kEvents), std::end(kEvents),
                     [&](const EventRow& row) { return row.reason == first.reason; });
    ASSERT_NE(event, std::end(kEvents)) << first.reason;
    EXPECT_TRUE(first.on_pool ? event->on_pool : event->on_node) << first.reason;
  }
}

std::vector<std::string> Wanted() {
  std::vector<std::string> wanted;
  for (const EventRow& event : kEvents) {
    if (event.on_pool) wanted.push_back(absl::StrCat("NodePool ", event.reason));
    if (event.on_node) wanted.push_back(absl::StrCat("Node ", event.reason));
  }
  wanted.insert(wanted.end(), std::begin(kConditions), std::end(kConditions));
  return wanted;
}

class Table : public ::testing::Environment {
 public:
  void TearDown() override {
    const auto& seen = Coverage::Get().seen();
    const std::vector<std::string> wanted = Wanted();
    std::printf("Covered by (first test):\n");
    for (const std::string& what : wanted) {
      const auto it = seen.find(what);
      const bool covered = it != seen.end();
      std::printf("  %-46s %s\n", what.c_str(), covered ? it->second.c_str() : "-");
      if (!covered && AllTestsRan()) ADD_FAILURE() << what << " is covered by no test";
    }
    // What is told must be of the reference.
    const std::set<std::string> known(wanted.begin(), wanted.end());
    for (const auto& [what, test] : seen) {
      EXPECT_TRUE(known.contains(what)) << what << ", which " << test << " saw, is not documented";
    }
  }

 private:
  static bool AllTestsRan() {
    return GTEST_FLAG_GET(filter) == "*" && std::getenv("GTEST_TOTAL_SHARDS") == nullptr;
  }
};

const auto* const kTable = ::testing::AddGlobalTestEnvironment(new Table());

}  // namespace
}  // namespace muster::lifecycle
