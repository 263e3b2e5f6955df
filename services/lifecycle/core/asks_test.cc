// What a pool asks of quota, capacity and configuration, and what their answers say of its spec,
// one rule at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What configuration may forget: an order that waits still, and what came after it, it may not.
TEST(DemandOf, TellsUpToWhichOrderAllEndsWereTold) {
  Running sim(1);
  Pool pool = *sim.pool();
  const auto told = [&](int64_t last, int64_t waiting) {
    pool.account.configuration_order = last;
    pool.account.waiting_configuration_order = waiting;
    return DemandOf(pool, {}, sim.catalogue).configuration->orders_told;
  };
  EXPECT_EQ(told(7, 0), 7);
  EXPECT_EQ(told(7, 5), 4);
  EXPECT_EQ(told(7, 9), 7);
}

// Configuration refuses all that is asked in one call with a profile that it does not know.
TEST(DemandOf, CountsBootFailuresOnlyOfRevisions) {
  Running sim(1);
  Pool pool = *sim.pool();
  const auto failures = [&](const std::string& profile) {
    pool.account.boot_failures = {profile, 0, {"g1"}};
    return DemandOf(pool, {}, sim.catalogue).configuration->boot_failures.machines;
  };
  EXPECT_THAT(failures(pool.status.node_profile), ElementsAre("g1"));
  EXPECT_THAT(failures("np-of-a-revision-that-is-gone"), IsEmpty());
}

TEST(DemandOf, ANodeWithoutGpusNeedsNoDriver) {
  Running sim(1);
  EXPECT_TRUE(DemandOf(*sim.pool(), {}, sim.catalogue).configuration->gpu);
  sim.catalogue.type->gpus = 0;
  EXPECT_FALSE(DemandOf(*sim.pool(), {}, sim.catalogue).configuration->gpu);
}

// Where nothing is in service at all, it is not the affinity that is not met.
TEST(Affinity, IsUnmetWhereMachinesAreAndNoneMatches) {
  Running sim(1);
  Pool pool = *sim.pool();
  PeerReply<ClaimFacts> claim{.state = PeerReply<ClaimFacts>::State::kHere};
  claim.value.in_service = 3;
  EXPECT_FALSE(UnmetAffinity(pool, claim)) << "it has none";
  pool.spec.node_affinity = {{{"rack", "In", {"r1"}}}};
  EXPECT_TRUE(UnmetAffinity(pool, claim));
  claim.value.matching_in_repair = 1;
  EXPECT_FALSE(UnmetAffinity(pool, claim)) << "one may come from repair";
  claim.value.matching_in_repair = 0;
  claim.value.matching = 1;
  EXPECT_FALSE(UnmetAffinity(pool, claim));
  claim.value = {};
  EXPECT_FALSE(UnmetAffinity(pool, claim)) << "no machine is in service";
  claim.value.in_service = 3;
  claim.state = PeerReply<ClaimFacts>::State::kAway;
  EXPECT_FALSE(UnmetAffinity(pool, claim)) << "nobody knows";
  claim.state = PeerReply<ClaimFacts>::State::kHere;
  pool.delete_time = absl::UnixEpoch();
  EXPECT_FALSE(UnmetAffinity(pool, claim)) << "it goes";
}

// A pool of racks may say that it wants no replacements early.
TEST(CheckAgainstCatalogue, RefusesPrefillOfRacksOnlyIfItIsSwitchedOn) {
  Running sim(4);
  Pool pool = *sim.pool();
  CatalogueFacts catalogue = sim.catalogue;
  catalogue.type->nodes_per_rack = 4;
  pool.spec.prefill = Prefill{.enabled = false};
  EXPECT_EQ(CheckAgainstCatalogue(pool, catalogue).validity, Validity::kValid);
  pool.spec.prefill->enabled = true;
  EXPECT_EQ(CheckAgainstCatalogue(pool, catalogue).validity, Validity::kInvalid);
}

// What the spec leaves open is no fault of it, but a pool that never had a configuration has
// nothing to boot.
TEST(CheckAgainstCatalogue, AMissingReleaseCountsUntilThereIsAConfiguration) {
  Running sim(1);
  Pool pool = *sim.pool();
  pool.status.node_profile.clear();
  PeerReplies answers;
  answers.configuration.state = PeerReply<ConfigurationFacts>::State::kHere;
  answers.configuration.value.problem = "No release fits.";
  const auto validity = [&] {
    return CheckAgainstCatalogue(pool, sim.catalogue, answers).validity;
  };
  EXPECT_EQ(validity(), Validity::kInvalid);
  answers.configuration.value.active = "np-1";
  EXPECT_EQ(validity(), Validity::kValid);
  answers.configuration.value.active.clear();
  pool.status.node_profile = "np-1";
  EXPECT_EQ(validity(), Validity::kValid);
  answers.configuration.value.problem_of_spec = true;
  EXPECT_EQ(validity(), Validity::kInvalid);
  answers.configuration.state = PeerReply<ConfigurationFacts>::State::kAway;
  EXPECT_EQ(validity(), Validity::kValid);
  answers.configuration.state = PeerReply<ConfigurationFacts>::State::kHere;
  pool.delete_time = absl::UnixEpoch();
  EXPECT_EQ(validity(), Validity::kValid);
}

// Whatever else the other services say.
TEST(CheckAgainstCatalogue, WithoutTheTypeOnlyThatIsSaid) {
  Running sim(1);
  PeerReplies answers;
  answers.configuration.state = PeerReply<ConfigurationFacts>::State::kHere;
  answers.configuration.value.problem = "No release fits.";
  answers.configuration.value.problem_of_spec = true;
  CatalogueFacts catalogue = sim.catalogue;
  catalogue.known = false;
  EXPECT_EQ(CheckAgainstCatalogue(*sim.pool(), catalogue, answers).validity, Validity::kUnknown);
  catalogue = {.known = true};
  EXPECT_EQ(CheckAgainstCatalogue(*sim.pool(), catalogue, answers).message,
            CheckAgainstCatalogue(*sim.pool(), catalogue).message);
}

// "The pool disappears only after NodesRemoved=Complete was published and it holds no Node, no
// claim and no holding."
TEST(IsReadyToRelease, OnceNothingIsLeftAndThatWasPublished) {
  Pool gone;
  gone.delete_time = absl::UnixEpoch();
  gone.status.conditions = {{"NodesRemoved", "True", "Complete", ""}};
  EXPECT_TRUE(IsReadyToRelease(gone, {}));
  const Node node;
  EXPECT_FALSE(IsReadyToRelease(gone, {&node}));
  Pool pool = gone;
  pool.delete_time = kNever;
  EXPECT_FALSE(IsReadyToRelease(pool, {}));
  pool = gone;
  pool.account.requested_nodes = 1;
  EXPECT_FALSE(IsReadyToRelease(pool, {})) << "its claim";
  pool = gone;
  pool.account.granted_nodes = 1;
  EXPECT_FALSE(IsReadyToRelease(pool, {})) << "its holding";
  pool = gone;
  pool.status.conditions = {{"NodesRemoved", "False", "Pending", ""}};
  EXPECT_FALSE(IsReadyToRelease(pool, {}));
}

// A quota that was restored to a past is asked for what was granted, by a request that lowers
// nothing and is older than the one for what the pool wants now.
TEST(Restated, IsWhatThePoolWasChargedForAlready) {
  Pool pool;
  pool.account.generation = 5;
  pool.account.granted_nodes = 3;
  pool.account.requested_nodes = 2;
  const HoldingAsk ask{9, 5};
  EXPECT_EQ(Restated(ask, pool, 1), (HoldingAsk{3, 4, false, true}));
  EXPECT_EQ(Restated(ask, pool, 4), (HoldingAsk{4, 4, false, true}));
  pool.account.requested_nodes = 6;
  pool.account.generation = 1;
  EXPECT_EQ(Restated(ask, pool, 4), (HoldingAsk{6, 1, false, true}));
  const HoldingAsk release{0, 5, true};
  EXPECT_EQ(Restated(release, pool, 0), release);
}

TEST(AsksForMore, IsMoreThanThePoolWasChargedForAlready) {
  Pool pool;
  pool.account.granted_nodes = 3;
  pool.account.requested_nodes = 2;
  EXPECT_FALSE(AsksForMore({3, 5}, pool, 1));
  EXPECT_TRUE(AsksForMore({4, 5}, pool, 1));
  EXPECT_FALSE(AsksForMore({4, 5}, pool, 4)) << "its Nodes";
  EXPECT_FALSE(AsksForMore({0, 5, /*release=*/true}, pool, 0));
}

}  // namespace
}  // namespace muster::lifecycle
