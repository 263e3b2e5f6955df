#include "tests/kubernetes/fleetsim/cluster_test_base.h"

namespace muster::fleetsim {
namespace {

class LeasesTest : public ClusterTest {
 protected:
  // Blocks until all of so many are renewed once more than in `before`, but for the silent ones.
  Watched::Objects WaitForRenewals(const Watched::Objects& before, const std::string& last_silent) {
    return leases_.WaitForAll(before.size(), [&](const Json& lease) {
      const std::string name = lease["metadata"]["name"];
      return name <= last_silent || RenewTimeOf(lease) > RenewTimeOf(before.at(name));
    });
  }

  Watched leases_{server_, kLeasesPath};
};

TEST_F(LeasesTest, AreRenewedForAsLongAsKubeletsLive) {
  options_.lease_interval = absl::Milliseconds(20);
  Begin();
  WantAll(5);
  auto seen = leases_.WaitForAll(5, Anything);
  for (int turn = 0; turn < 3; ++turn) seen = WaitForRenewals(seen, "");
  WantAll(2, [](DesiredMachine& desired) {
    desired.ready = false;
    desired.reason = kKubeletStopped;
  });
  const absl::Time silence = clock_.Now();
  EXPECT_EQ(cluster_->stats().leases.kept, 3);
  for (int turn = 0; turn < 3; ++turn) seen = WaitForRenewals(seen, Up(1).machine);
  for (int machine = 0; machine < 2; ++machine) {
    absl::Time renewed;
    ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, RenewTimeOf(seen.at(Up(machine).machine)),
                                &renewed, nullptr));
    EXPECT_LE(renewed, silence);
  }
  WantAll(2);
  WaitForRenewals(seen, "");
  EXPECT_EQ(cluster_->stats().leases.kept, 5);
}

TEST_F(LeasesTest, WhatSomebodyTakesAwayIsWrittenAgain) {
  options_.lease_interval = absl::Milliseconds(5);
  Begin();
  WantAll(1);
  Watched nodes(server_, "/api/v1/nodes");
  const auto first = leases_.WaitForAll(1, Anything);
  const std::string uid = first.begin()->second["metadata"]["uid"];
  ASSERT_TRUE(client_->Delete(LeasePath(Up(0).machine)).ok());
  leases_.WaitForAll(1, [&](const Json& lease) { return lease["metadata"]["uid"] != uid; });
  // Another Node of the name owns it from then on.
  const std::string node = nodes.WaitForAll(1, IsReady).begin()->second["metadata"]["uid"];
  DeleteNode(Up(0).machine);
  const auto there = nodes.WaitForAll(
      1, [&](const Json& object) { return object["metadata"]["uid"] != node && IsReady(object); });
  leases_.WaitForAll(1, [&](const Json& lease) { return IsOwnedByItsNode(lease, there); });
}

}  // namespace
}  // namespace muster::fleetsim
