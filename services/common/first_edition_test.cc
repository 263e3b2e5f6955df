#include "services/common/first_edition.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

std::string Both(absl::string_view type, absl::string_view reason,
                 absl::string_view event_reason = "") {
  const auto first = FirstEditionOfCondition(type, reason, event_reason);
  return first ? first->type + "/" + first->reason : "";
}

TEST(FirstEdition, Conditions) {
  EXPECT_EQ(Both("Validated", "Valid"), "Accepted/Accepted");
  EXPECT_EQ(Both("Validated", "Invalid"), "Accepted/Invalid");
  EXPECT_EQ(Both("Validated", "InternalError"), "Accepted/InternalError");
  EXPECT_EQ(Both("AtTarget", "TargetMet"), "Allocated/Complete");
  for (const char* same : {"PendingDelete", "OverTarget", "UnderTarget", "InternalError"}) {
    EXPECT_EQ(Both("AtTarget", same), std::string("Allocated/") + same);
  }
  for (const char* same : {"Sufficient", "Partial", "NoneAvailable", "InternalError"}) {
    EXPECT_EQ(Both("Capacity", same), std::string("SufficientCapacity/") + same);
  }
  EXPECT_EQ(Both("Capacity", "QueuedAwaitingCapacity"), "SufficientCapacity/Partial");
  EXPECT_EQ(Both("Capacity", "PartialNodeAffinity"), "SufficientCapacity/Partial");
  EXPECT_EQ(Both("Capacity", "NoneAvailableNodeAffinity"), "SufficientCapacity/NoneAvailable");
  EXPECT_EQ(Both("NodesRemoved", "Complete"), "NodesRemoved/Complete");
  EXPECT_EQ(Both("Validated", "Invalid", "CWInvalidInstanceType"), "Accepted/Invalid");
  EXPECT_EQ(Both("Validated", "Invalid", "CWInstanceTypeNotInZone"), "Accepted/PolicyViolation");
  EXPECT_EQ(Both("Quota", "Under"), "Accepted/Accepted");
  EXPECT_EQ(Both("Quota", "Over"), "Accepted/PolicyViolation");
  EXPECT_EQ(Both("Quota", "NotSet"), "Accepted/PolicyViolation");
  EXPECT_EQ(Both("Quota", "InternalError"), "Accepted/InternalError");
  EXPECT_EQ(Both("NodeReconfigurationRequired", "StagedNodeConfig"), "");
}

TEST(FirstEdition, EveryEventOfItButNodeCWActiveHasACounterpart) {
  std::set<std::string> names;
  for (const char* today :
       {"CWNodeRegistered", "CWNodeRegistrationFailed", "CWNodeRequestQueued",
        "CWNodePoolRemoveNodes", "CWNodePoolNodesRemoveError", "CWNodePoolMetadata",
        "CWNodePoolNodesRemoved", "CWNodePoolNodesRequestFailed", "CWInvalidInstanceType",
        "CWInstanceTypeNotInZone", "CWNodePoolQuotaCheckFailed", "CWOverQuota", "CWNodeAssigned"}) {
    for (const bool on_pool : {false, true}) {
      const absl::string_view first = FirstEditionOfEvent(today, on_pool);
      if (!first.empty()) names.emplace(first);
    }
  }
  EXPECT_EQ(
      names,
      (std::set<std::string>{
          "CWNodeRegisteredEvent", "CWRegistrationFailedEvent", "InstanceTypeNotInZone",
          "InvalidInstanceType", "NPOCWOverQuota", "NodePoolMetadata", "NodePoolNodesAllocated",
          "NodePoolNodesRemoveError", "NodePoolNodesRemoved", "NodePoolNodesRequestFailed",
          "NodePoolNodesRequested", "NodePoolQuotaCheckFailed", "NodePoolRemoveNodes"}));
  EXPECT_EQ(FirstEditionOfEvent("CWNodeAssigned", true), "");
}

}  // namespace
}  // namespace muster
