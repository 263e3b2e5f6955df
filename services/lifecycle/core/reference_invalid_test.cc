// Pools that cannot be had as they are: what they say, and what is not done for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/preview.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kMissing[] = "No release of gpu-driver 999 in channel stable: there are 570, 550.";

// A pool whose spec names a driver that nobody released.
struct Unreleased : Simulation {
  explicit Unreleased(bool of_spec = true) {
    configuration.active.clear();
    configuration.revisions.clear();
    configuration.problem = kMissing;
    configuration.problem_of_spec = of_spec;
    Create(3);
  }
  void Release() {
    configuration.problem.clear();
    configuration.problem_of_spec = false;
    configuration.active = kSimProfile;
    configuration.revisions = {Made(kSimProfile)};
  }
};

// "What depends on releases (gpu.version, image.name, kernel, release train that resolve to
// nothing) is accepted, then Validated=False/Invalid with an event that names what there is;
// nothing is asked of capacity; it heals by itself when a release comes."
TEST(ReferenceInvalid, WhatResolvesToNothingIsInvalidAndCostsNothing) {
  Unreleased sim;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), absl::StrCat("False/Invalid: ", kMissing));
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_FALSE(sim.has_claim());
  EXPECT_EQ(sim.holding(), 0);
  EXPECT_EQ(sim.CountOf("CWNodePoolNodesRequestFailed"), 1);
  EXPECT_EQ(sim.told().back().message, kMissing);
  EXPECT_EQ(sim.CountOf("CWNodeRequestQueued"), 0);
  EXPECT_THAT(sim.ObstacleTexts(), ElementsAre(absl::StrCat("INVALID_SPEC user: ", kMissing)));
  sim.Release();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Valid");
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_THAT(sim.machines(), SizeIs(3));
  EXPECT_EQ(sim.holding(), 3);
}

// What the spec leaves open, and is not there either, is no fault of its owner.
TEST(ReferenceInvalid, WithNothingReleasedTheOperatorMustAct) {
  Unreleased sim(/*of_spec=*/false);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Invalid");
  EXPECT_FALSE(sim.has_claim());
  EXPECT_THAT(sim.ObstacleTexts(), ElementsAre(absl::StrCat("INVALID_SPEC operator: ", kMissing)));
}

// "An invalid pool keeps the Nodes it has and requests none."
TEST(ReferenceInvalid, APoolWhoseDriverIsWithdrawnKeepsItsNodes) {
  Running sim(3);
  sim.configuration.problem = kMissing;
  sim.configuration.problem_of_spec = true;
  sim.Resize(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Invalid");
  EXPECT_THAT(sim.machines(), SizeIs(3));
  // Silence is no news.
  sim.configuration_away = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), absl::StrCat("False/Invalid: ", kMissing));
  EXPECT_THAT(sim.machines(), SizeIs(3));
  sim.configuration_away = false;
  sim.configuration.problem.clear();
  sim.configuration.problem_of_spec = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), SizeIs(5));
  EXPECT_EQ(sim.CountOf("CWNodePoolNodesRequestFailed"), 1);
}

// A pool that has a configuration goes on with it, whatever upstream takes away from under it.
TEST(ReferenceInvalid, WhatTheSpecLeavesOpenDoesNotStopAPoolThatHasAConfiguration) {
  Running sim(3);
  sim.configuration.problem = kMissing;
  sim.Resize(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Valid");
  EXPECT_THAT(sim.machines(), SizeIs(5));
  EXPECT_THAT(sim.ObstacleTexts(),
              ElementsAre(absl::StrCat("CONFIGURATION_PROBLEM operator: ", kMissing)));
}

// Machines that were granted while configuration was silent are for others after a while.
TEST(ReferenceInvalid, WhatWasGrantedInTheSilenceIsGivenBack) {
  Unreleased sim;
  sim.configuration_away = true;
  ASSERT_TRUE(sim.Converge());
  ASSERT_THAT(sim.machines(), SizeIs(3));
  sim.configuration_away = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Invalid");
  sim.Advance(kUnbootableGrace);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_EQ(sim.holding(), 0);
}

TEST(ReferenceInvalid, ThePreviewSaysTheSame) {
  Unreleased sim;
  const DryRun dry_run{std::nullopt, *sim.pool(), {.name = kSimCluster, .zone = "US-EAST-04A"}};
  const Preview told = Rehearse(dry_run, [&](const State& state) {
    Snapshot snapshot = sim.Look();
    snapshot.pool = state.table<Pool>().Find(kSimPool);
    return snapshot;
  });
  EXPECT_EQ(told.invalid, kMissing);
  EXPECT_EQ(told.charge, 0);
  EXPECT_EQ(told.more_nodes, 0);
}

// "Capacity says what is true; Validated bears the fault; who must act is the operator".
TEST(ReferenceInvalid, ATypeWithdrawnFromUnderItsNodes) {
  Running sim(3);
  sim.catalogue.offered = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"),
            "False/Invalid: Instance type gd-8xa100-i128 is not available in zone US-EAST-04A.");
  EXPECT_EQ(sim.Reason("Capacity"), "Sufficient");
  EXPECT_EQ(sim.CountOf("CWInsufficientCapacity"), 0);
  EXPECT_THAT(sim.ObstacleTexts(),
              ElementsAre("INVALID_SPEC operator: Instance type gd-8xa100-i128 is not available in "
                          "zone US-EAST-04A."));
  sim.Resize(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"),
            "False/Partial: 3 of 5 Nodes granted: no more are asked for while the NodePool is "
            "invalid.");
  EXPECT_EQ(sim.CountOf("CWInsufficientCapacity"), 0) << "a second Warning misleads";
  sim.catalogue.offered = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Capacity"), "Sufficient");
}

TEST(ReferenceInvalid, SpotWithdrawnFromUnderItsNodes) {
  Simulation sim;
  sim.ApplySpot(2);
  ASSERT_TRUE(sim.Converge());
  sim.catalogue.general_access = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Capacity"), "Sufficient");
  EXPECT_THAT(sim.ObstacleTexts(),
              ElementsAre("INVALID_SPEC operator: Zone US-EAST-04A does not serve spot pools."));
}

// "the message lists every fault": of the zone, of the node affinity, of the releases.
TEST(ReferenceInvalid, AllThatIsWrongIsSaidAtOnce) {
  Simulation sim;
  sim.Apply([](Spec& spec) {
    WantRowSeven(spec, 2);
    spec.compute_class = "spot";
  });
  ASSERT_TRUE(sim.Converge());
  sim.catalogue.offered = sim.catalogue.general_access = false;
  sim.matching.emplace();
  sim.configuration.problem = kMissing;
  sim.configuration.problem_of_spec = true;
  ASSERT_TRUE(sim.Converge());
  const std::string all = absl::StrCat(
      "False/Invalid: Instance type gd-8xa100-i128 is not available in zone US-EAST-04A. Zone "
      "US-EAST-04A does not serve spot pools. No machine of gd-8xa100-i128 in zone US-EAST-04A "
      "satisfies the node affinity. ",
      kMissing);
  EXPECT_EQ(sim.Says("Validated"), all);
  EXPECT_EQ(sim.CountOf("CWInstanceTypeNotInZone"), 1);
  sim.configuration_away = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), all) << "silence is no news";
  EXPECT_EQ(sim.CountOf("CWInstanceTypeNotInZone"), 1);
  sim.configuration_away = false;
  sim.catalogue = Simulation().catalogue;
  sim.matching.reset();
  sim.configuration.problem.clear();
  sim.configuration.problem_of_spec = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Valid");
}

// Nobody who makes the pool anew for its type is to find only then that the zone serves no spot.
TEST(ReferenceInvalid, WhatTheZoneDoesNotServeIsSaidOfAnUnknownTypeToo) {
  Simulation sim;
  sim.catalogue.type.reset();
  sim.catalogue.offered = sim.catalogue.general_access = false;
  sim.ApplySpot(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"),
            "False/Invalid: Instance type gd-8xa100-i128 does not exist. Zone US-EAST-04A does not "
            "serve spot pools.");
  EXPECT_EQ(sim.CountOf("CWInvalidInstanceType"), 1);
  EXPECT_EQ(sim.CountOf("CWInstanceTypeNotInZone"), 0);
}

// What the API refuses may become so later, when the catalogue is set right.
TEST(ReferenceInvalid, ATypeThatIsNotServedAsSpotAnyMore) {
  Simulation sim;
  sim.ApplySpot(2);
  ASSERT_TRUE(sim.Converge());
  sim.catalogue.type->superchip = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"),
            "False/Invalid: `spot` is not available for superchip type gd-8xa100-i128.");
  EXPECT_EQ(sim.Reason("Capacity"), "Sufficient");
  EXPECT_EQ(sim.CountOf("CWInstanceTypeNotInZone"), 1);
  EXPECT_THAT(sim.machines(), SizeIs(2));
  EXPECT_THAT(sim.ObstacleTexts(),
              ElementsAre("INVALID_SPEC operator: `spot` is not available for superchip type "
                          "gd-8xa100-i128."));
  sim.catalogue.type->superchip = false;
  sim.catalogue.type->nodes_per_rack = 2;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"),
            "False/Invalid: `spot` is not available for gd-8xa100-i128, which is granted in whole "
            "racks.");
  sim.catalogue.type->nodes_per_rack = 0;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Valid");
  EXPECT_THAT(sim.machines(), SizeIs(2));
}

TEST(ReferenceInvalid, ATypeThatIsGrantedInWholeRacksByNow) {
  constexpr char kWhole[] = "for gd-8xa100-i128, which is granted in whole racks.";
  Simulation sim;
  sim.Apply([](Spec& spec) {
    spec.target_nodes = 3;
    spec.prefill = Prefill{.enabled = true};
  });
  ASSERT_TRUE(sim.Converge());
  sim.catalogue.type->nodes_per_rack = 2;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"),
            absl::StrCat("False/Invalid: `prefill` is not available ", kWhole,
                         " `targetNodes` must be a multiple of 2 ", kWhole));
  EXPECT_EQ(sim.CountOf("CWNodePoolNodesRequestFailed"), 1);
  EXPECT_EQ(sim.CountOf("CWInstanceTypeNotInZone"), 0) << "it is in the zone";
  EXPECT_THAT(sim.ObstacleTexts(), Contains(StartsWith("INVALID_SPEC user: `prefill` is not")))
      << "a change of the spec mends it";
  EXPECT_THAT(sim.machines(), SizeIs(3));
  // No change of the spec mends what the zone does not offer.
  sim.catalogue.offered = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWInstanceTypeNotInZone"), 1);
  EXPECT_THAT(sim.ObstacleTexts(), Contains(StartsWith("INVALID_SPEC operator: Instance type ")));
  sim.catalogue.offered = true;
  sim.catalogue.type->nodes_per_rack = 0;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Valid");
  EXPECT_THAT(sim.machines(), SizeIs(3));
}

// Whoever asks for a type before it is published is told afterwards what the API would have
// refused.
TEST(ReferenceInvalid, ATypeThatIsPublishedLaterAndIsGrantedInWholeRacks) {
  for (const bool autoscaled : {false, true}) {
    SCOPED_TRACE(autoscaled);
    Simulation sim;
    TypeFacts type = *sim.catalogue.type;
    type.nodes_per_rack = 2;
    sim.catalogue.type.reset();
    sim.Apply([autoscaled](Spec& spec) {
      spec.target_nodes = autoscaled ? 2 : 5;
      spec.autoscaling = autoscaled;
      spec.max_nodes = autoscaled ? 4 : 0;
    });
    ASSERT_TRUE(sim.Converge());
    sim.catalogue.type = type;
    ASSERT_TRUE(sim.Converge());
    const std::string fault = absl::StrCat(
        autoscaled ? "`autoscaling` is not available" : "`targetNodes` must be a multiple of 2",
        " for gd-8xa100-i128, which is granted in whole racks.");
    EXPECT_EQ(sim.Says("Validated"), absl::StrCat("False/Invalid: ", fault));
    EXPECT_THAT(sim.ObstacleTexts(), ElementsAre(absl::StrCat("INVALID_SPEC user: ", fault)));
    EXPECT_THAT(sim.machines(), IsEmpty());
    EXPECT_EQ(sim.holding(), 0);
  }
}

// "a new invalid pool has its Capacity condition"
TEST(ReferenceInvalid, ANewOneHasItsCapacityCondition) {
  constexpr char kNone[] =
      "False/NoneAvailable: 0 of 3 Nodes granted: no more are asked for while the NodePool is "
      "invalid.";
  Unreleased unreleased;
  ASSERT_TRUE(unreleased.Converge());
  EXPECT_EQ(unreleased.Says("Capacity"), kNone);
  Simulation sim;
  sim.catalogue.offered = false;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"), kNone);
  EXPECT_THAT(sim.ObstacleTexts(),
              ElementsAre("INVALID_SPEC user: Instance type gd-8xa100-i128 is not available in "
                          "zone US-EAST-04A."));
  // Once it is valid, what is short is told.
  sim.Retire(100);
  sim.catalogue.offered = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Capacity"), "NoneAvailable");
  EXPECT_EQ(sim.CountOf("CWInsufficientCapacity"), 1);
}

// Of a type that does not exist configuration is not asked: what it would make of a new spec nobody
// knows.
TEST(ReferenceInvalid, OfASpecAfterItsTypeIsGoneNothingIsSaidToBeUpToDate) {
  constexpr char kType[] = "NodeReconfigurationRequired";
  Running sim(2);
  const auto generation_of = [&](const char* type) {
    return FindCondition(sim.pool()->status.conditions, type)->observed_generation;
  };
  sim.catalogue.type.reset();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason(kType), "AllNodesUpToDate") << "of the spec that its Nodes are of";
  EXPECT_EQ(generation_of(kType), sim.pool()->generation);
  sim.Apply([](Spec& spec) { spec.gpu = Gpu{"570"}; });
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Invalid");
  EXPECT_EQ(generation_of("Validated"), sim.pool()->generation);
  EXPECT_EQ(generation_of(kType), sim.pool()->generation - 1);
  sim.catalogue = Simulation().catalogue;
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason(kType), "StagedNodeConfig");
  EXPECT_EQ(generation_of(kType), sim.pool()->generation);
}

TEST(ReferenceInvalid, ATypeWithdrawnLeavesPromotionsTheirWay) {
  Running sim(3);
  sim.Pend("np-000000000002");
  ASSERT_TRUE(sim.Converge());
  sim.catalogue.offered = false;
  ASSERT_TRUE(sim.Converge());
  sim.Promote();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->status.node_profile, "np-000000000002");
  EXPECT_EQ(sim.CountOf("CWNodePoolNodeConfigUpdated"), 1);
  EXPECT_EQ(sim.Reason("NodeReconfigurationRequired"), "StagedNodeConfig");
}

}  // namespace
}  // namespace muster::lifecycle
