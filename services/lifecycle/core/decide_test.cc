#include "services/lifecycle/core/decide.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/decide.h"

namespace muster::lifecycle {
namespace {

TEST(Decide, ClusterKeepsItsZone) {
  Simulation sim;
  const auto changed =
      sim.Run(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04B"}});
  EXPECT_EQ(ReasonOf(changed.status()), "ZONE_CHANGED");
  const int64_t revision = sim.revision();
  EXPECT_TRUE(sim.Run(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04A"}}).ok());
  EXPECT_EQ(sim.revision(), revision);
}

// Two organizations whose names begin alike, each with a cluster.
class Organizations : public ::testing::Test {
 protected:
  Organizations() {
    for (const char* cluster : {"acme/clusters/c", "acmes/clusters/c"})
      EXPECT_EQ(Make(cluster, {}), "");
  }
  template <class Command>
  absl::Status Run(const Command& command) {
    StagedState<State> staged(state_, 0);
    const absl::Status status = Decide(staged, command, absl::FromUnixSeconds(1)).status();
    if (!status.ok()) staged.RollBack();
    return status;
  }
  // The reason of the refusal; empty: it was done.
  std::string Make(const std::string& cluster, const OrganizationLimits& limits) {
    UpdateCluster command{.limits = limits};
    command.cluster.name = absl::StrCat("organizations/", cluster);
    command.cluster.zone = "US-EAST-04A";
    return ReasonOf(Run(command));
  }
  ApplyNodePool PoolIn(const std::string& cluster, const std::string& id, int64_t most) {
    ApplyNodePool command = PoolOfNodes(1);
    command.name = absl::StrCat("organizations/", cluster, "/nodePools/", id);
    command.new_uid = absl::StrCat(cluster, id);
    command.limits.pools = most;
    return command;
  }

  State state_;
};

TEST_F(Organizations, HaveNoMorePoolsThanTheyMay) {
  EXPECT_EQ(Run(PoolIn("acmes/clusters/c", "p", 1)), absl::OkStatus());
  EXPECT_EQ(Run(PoolIn("acme/clusters/c", "p", 1)), absl::OkStatus()) << "the other's do not count";
  const absl::Status refused = Run(PoolIn("acme/clusters/c", "q", 1));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_POOLS");
  EXPECT_EQ(muster::error::DetailOf(refused)->metadata.at("limit"), "1");
  EXPECT_EQ(muster::error::DetailOf(refused)->resource, "organizations/acme");
  EXPECT_EQ(Run(PoolIn("acme/clusters/c", "p", 1)), absl::OkStatus()) << "what it has may change";
  EXPECT_EQ(Run(PoolIn("acme/clusters/c", "q", 2)), absl::OkStatus());
}

TEST_F(Organizations, HaveNoMoreClustersThanTheyMay) {
  EXPECT_EQ(Make("acme/clusters/d", {.clusters = 1}), "TOO_MANY_CLUSTERS");
  EXPECT_EQ(Make("acme/clusters/c", {.clusters = 1}), "");
  EXPECT_EQ(Make("acme/clusters/d", {.clusters = 2}), "");
}

TEST(Decide, DeleteIsIdempotent) {
  Simulation sim;
  EXPECT_EQ(ReasonOf(sim.Run(DeleteNodePool{.name = kSimPool}).status()), "NOT_FOUND");
  EXPECT_TRUE(sim.Run(DeleteNodePool{.name = kSimPool, .allow_missing = true}).ok());
  sim.Must(PoolOfNodes(1));
  sim.Delete();
  const int64_t revision = sim.revision();
  sim.Delete();
  EXPECT_EQ(sim.revision(), revision);
}

}  // namespace
}  // namespace muster::lifecycle
