#include "services/lifecycle/core/boot_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/limits.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Node Booting(const std::string& machine, const std::string& profile) {
  Node node{.machine = machine, .state = NodeState::kBooting};
  node.desired.node_profile = profile;
  return node;
}

Pool PoolOfTwoRevisions() {
  Pool pool;
  pool.status.revisions = {{.node_profile = "np-1"}, {.node_profile = "np-2"}};
  return pool;
}

TEST(BootFailures, AMachineCountsOnceAndAnotherProfileCountsAnew) {
  Pool pool = PoolOfTwoRevisions();
  CountBootFailure(pool, Booting("g1", "np-1"));
  CountBootFailure(pool, Booting("g1", "np-1"));
  CountBootFailure(pool, Booting("g2", "np-1"));
  EXPECT_THAT(pool.account.boot_failures.machines, ElementsAre("g1", "g2"));
  CountBootFailure(pool, Booting("g3", "np-2"));
  EXPECT_EQ(pool.account.boot_failures.node_profile, "np-2");
  EXPECT_THAT(pool.account.boot_failures.machines, ElementsAre("g3"));
}

// A Node may still come up with what was active before.
TEST(BootFailures, OfAnotherProfileEndNoRowOfTheActiveOne) {
  Pool pool = PoolOfTwoRevisions();
  pool.status.node_profile = "np-2";
  CountBootFailure(pool, Booting("g1", "np-1"));
  EXPECT_EQ(pool.account.boot_failures.node_profile, "np-1");
  CountBootFailure(pool, Booting("g2", "np-2"));
  CountBootFailure(pool, Booting("g3", "np-1"));
  EXPECT_EQ(pool.account.boot_failures.node_profile, "np-2");
  EXPECT_THAT(pool.account.boot_failures.machines, ElementsAre("g2"));
  CountBootFailure(pool, Booting("g4", "np-2"));
  EXPECT_THAT(pool.account.boot_failures.machines, ElementsAre("g2", "g4"));
  pool.status.node_profile = "np-1";
  CountBootFailure(pool, Booting("g5", "np-1"));
  EXPECT_EQ(pool.account.boot_failures.node_profile, "np-1");
}

TEST(BootFailures, AnEnabledRevisionCountsAnew) {
  Pool pool;
  pool.status.revisions = {{.node_profile = "np-1"}};
  CountBootFailure(pool, Booting("g1", "np-1"));
  pool.status.revisions[0].enable_count = 1;
  CountBootFailure(pool, Booting("g2", "np-1"));
  EXPECT_THAT(pool.account.boot_failures.machines, ElementsAre("g2"));
}

TEST(BootFailures, ANodeThatRegisteredFailedInWhatItRuns) {
  Pool pool = PoolOfTwoRevisions();
  Node node = Booting("g1", "np-2");
  node.state = NodeState::kRegistered;
  node.observed.node_profile = "np-1";
  CountBootFailure(pool, node);
  EXPECT_EQ(pool.account.boot_failures.node_profile, "np-1");
  node.observed.node_profile.clear();  // its agent does not tell
  CountBootFailure(pool, node);
  EXPECT_EQ(pool.account.boot_failures.node_profile, "np-2");
}

TEST(BootFailures, ASuccessOfItsProfileEndsTheRow) {
  Pool pool = PoolOfTwoRevisions();
  CountBootFailure(pool, Booting("g1", "np-1"));
  Node other;
  other.observed.node_profile = "np-2";
  CountBootSuccess(pool, other);
  EXPECT_THAT(pool.account.boot_failures.machines, SizeIs(1));
  other.observed.node_profile = "np-1";
  CountBootSuccess(pool, other);
  EXPECT_THAT(pool.account.boot_failures.machines, IsEmpty());
}

TEST(BootFailures, OfReconfigureRebootsOnly) {
  Pool pool = {.reconfiguration = Reconfiguration{}};
  Node node = Booting("g1", "np-1");
  node.state = NodeState::kReconfiguring;
  CountBootFailure(pool, node, false);
  EXPECT_THAT(pool.reconfiguration->failed_machines, ElementsAre("g1"));
  EXPECT_THAT(pool.account.boot_failures.machines, IsEmpty());
}

// What an operator had rebooted beside them tells nothing of them.
TEST(BootFailures, OfReconfigureRebootsOnlyOfTheNodesThatWereAsked) {
  Pool pool = {.reconfiguration = Reconfiguration{.machines = {"g1"}}};
  for (const char* machine : {"g1", "g2"}) {
    Node node = Booting(machine, "np-1");
    node.state = NodeState::kReconfiguring;
    CountBootFailure(pool, node, false);
  }
  EXPECT_THAT(pool.reconfiguration->failed_machines, ElementsAre("g1"));
}

// What was ill when its reboot was ordered was not broken by what it boots.
TEST(BootFailures, OfANodeThatWasIllBeforeItsRebootTellNothing) {
  for (const int seconds : {-1, 0, 1}) {
    Pool pool = PoolOfTwoRevisions();
    Node node = Booting("g1", "np-1");
    node.state = NodeState::kReconfiguring;
    node.desired.phase_time = absl::FromUnixSeconds(100);
    node.observed.unhealthy = true;
    node.observed.unhealthy_time = absl::FromUnixSeconds(100 + seconds);
    CountBootFailure(pool, node);
    EXPECT_EQ(pool.account.boot_failures.machines.empty(), seconds <= 0);
  }
}

// Whoever reports may say anything, also of a Node that was told of no configuration yet.
// Configuration refuses what is no profile's name, and with it all else that is asked in the same
// call.
TEST(BootFailures, OnlyOfProfilesThatThePoolKnows) {
  Pool pool = PoolOfTwoRevisions();
  CountBootFailure(pool, Booting("g1", ""));
  CountBootFailure(pool, Booting("g2", "no profile"));
  EXPECT_THAT(pool.account.boot_failures.machines, IsEmpty());
}

// However many are allowed to fail, one more halts it.
TEST(BootFailures, OfReconfigureRebootsCountAsFarAsAreAllowed) {
  Pool pool{.reconfiguration = Reconfiguration{.allowed_failures = 100}};
  for (int i = 0; i < 200; ++i) {
    Node node = Booting("g" + std::to_string(i), "np-1");
    node.state = NodeState::kReconfiguring;
    CountBootFailure(pool, node, false);
  }
  EXPECT_THAT(pool.reconfiguration->failed_machines, SizeIs(101));
}

TEST(BootFailures, AreBounded) {
  Pool pool = PoolOfTwoRevisions();
  for (size_t i = 0; i < kMaxBootFailures + 2; ++i)
    CountBootFailure(pool, Booting("g" + std::to_string(i), "np-1"));
  EXPECT_THAT(pool.account.boot_failures.machines, SizeIs(kMaxBootFailures));
}

}  // namespace
}  // namespace muster::lifecycle
