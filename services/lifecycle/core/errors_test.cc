#include "services/lifecycle/core/errors.h"

#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/decide.h"

namespace muster::lifecycle {
namespace {

TEST(Errors, EachHasItsCodeAndReasonAndNamesWhatItIsAbout) {
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  constexpr auto kAborted = absl::StatusCode::kAborted;
  const struct {
    absl::Status status;
    absl::StatusCode code;
    const char* reason;
    const char* named;
  } rows[] = {
      {error::ZoneChanged("c1"), kPrecondition, "ZONE_CHANGED", "c1"},
      {error::ClusterBound("c1", "u1", "u2"), kPrecondition, "CLUSTER_BOUND", "u1"},
      {error::ClusterBound("c1", "", "u2"), kPrecondition, "CLUSTER_BOUND", "c1"},
      {error::KubernetesTaken("organizations/a/clusters/c1", "organizations/a/clusters/c2", "u2"),
       kPrecondition, "CLUSTER_BOUND", "u2"},
      {error::ClusterHasPools("c1", "u2"), kPrecondition, "CLUSTER_HAS_POOLS", "c1"},
      {error::PoolDeleting("p1"), kPrecondition, "POOL_DELETING", "p1"},
      {error::UidMismatch("p1", "u1", "u2"), kPrecondition, "UID_MISMATCH", "p1"},
      {error::UidMismatch("p1", "u1", "u2"), kPrecondition, "UID_MISMATCH", "`uid` is u1"},
      {error::UidMismatch("p1", "u1", "u2"), kPrecondition, "UID_MISMATCH", "has the uid u2"},
      {error::UidTaken("p1", "u1"), kPrecondition, "UID_MISMATCH", "`uid` u1"},
      {error::NodeProtected("p1/nodes/n1", "2026-11-22T12:00:00Z"), kPrecondition, "NODE_PROTECTED",
       "Node n1 is protected until 2026-11-22T12:00:00Z."},
      {error::ReconfigurationRunning("p1"), kPrecondition, "RECONFIGURATION_RUNNING", "p1"},
      {error::NoReconfiguration("p1"), kPrecondition, "NO_RECONFIGURATION", "p1"},
      {error::ConfigurationDisabled("p1", "np-1"), kPrecondition, "CONFIGURATION_DISABLED", "np-1"},
      {error::DoesNotFit("n1", "DRAINING", "boot"), kPrecondition, "NODE_STATE", "DRAINING"},
      {error::PlanOutdated("p1", 3, 4), kAborted, "PLAN_OUTDATED", "p1"},
      {error::MachineTaken("p1", "g1"), kAborted, "PLAN_OUTDATED", "g1"},
      {error::StaleLeader(1, 2), kAborted, "STALE_LEADER", "2"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.status.ToString());
    EXPECT_EQ(row.status.code(), row.code);
    EXPECT_EQ(ReasonOf(row.status), row.reason);
    const auto detail = muster::error::DetailOf(row.status);
    const bool in_words = row.status.message().find(row.named) != absl::string_view::npos;
    EXPECT_TRUE(in_words || detail->resource == row.named);
  }
}

}  // namespace
}  // namespace muster::lifecycle
