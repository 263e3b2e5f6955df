#include "services/capacity/core/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using Code = ObstacleCode;

class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() { world_.AddCatalogue(); }

  void Machines(int count, const Labels& labels = {}) { world_.RegisterSome(count, labels); }
  void Sync(const SyncClaim& claim) {
    ASSERT_TRUE(world_.Do(claim).ok());
    world_.Advance(absl::Minutes(1));
  }
  SyncClaim Want(const std::string& uid, int64_t nodes) { return world_.Want(uid, nodes); }
  SyncClaim Gang(const std::string& uid, int64_t nodes) { return world_.WantGang(uid, nodes); }
  SyncClaim Fast(const std::string& uid, int64_t nodes) {
    return World::Where(world_.Want(uid, nodes), "disk", {"nvme"});
  }
  SyncClaim Racks(const std::string& uid, int64_t nodes) {
    return World::OfRacks(world_.Want(uid, nodes));
  }
  std::vector<Obstacle> Obstacles(const std::string& uid) {
    return Explain(world_.state(), *world_.state().FindClaim(uid));
  }

  const Labels fast_ = {{"disk", "nvme"}};
  World world_;
};

TEST_F(ExplainTest, NothingIsSaidOfWhoHasAll) {
  Machines(2);
  Sync(Want("p", 2));
  Sync(Want("q", 0));
  EXPECT_THAT(Obstacles("p"), IsEmpty());
  EXPECT_THAT(Obstacles("q"), IsEmpty());
}

TEST_F(ExplainTest, UnknownInstanceType) {
  SyncClaim claim = Want("p", 0);
  claim.instance_type = "castle";
  Sync(claim);
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kUnknownInstanceType, 0, 0,
                                                   "Instance type castle is not in the "
                                                   "catalogue."}));
}

TEST_F(ExplainTest, NotInZone) {
  Machines(1);
  Sync(Want("p", 1));
  world_.Do(UpdateZone{{.id = World::kZone}});
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kNotInZone, 0, 0,
                                                   "Zone US-EAST-04A does not offer "
                                                   "gd-8xa100-i128."}));
  SyncClaim nowhere = Want("q", 0);
  nowhere.zone = "NOWHERE";
  Sync(nowhere);
  EXPECT_THAT(Obstacles("q"),
              ElementsAre(Obstacle{Code::kNotInZone, 0, 0, "Zone NOWHERE is unknown."}));
}

TEST_F(ExplainTest, SpotNotOffered) {
  Machines(1);
  SyncClaim spot = Want("p", 1);
  spot.compute_class = ComputeClass::kSpot;
  Sync(spot);
  world_.Do(UpdateZone{{World::kZone, ZoneAccess::kDedicated, {World::kType}}});
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kSpotNotOffered, 0, 0,
                                                   "Zone US-EAST-04A does not offer "
                                                   "gd-8xa100-i128 as spot."}));
}

TEST_F(ExplainTest, NoneInServiceSomeInRepair) {
  Machines(1);
  (void)world_.Do(SetMachineState{"m0", MachineState::kInRepair});
  Sync(Want("p", 2));
  EXPECT_THAT(Obstacles("p"),
              ElementsAre(Obstacle{Code::kNoneInService, 0, 0,
                                   "No machine of type gd-8xa100-i128 is in service in "
                                   "US-EAST-04A."},
                          Obstacle{Code::kInRepair, 1, 0, "1 machine is in repair."}));
}

TEST_F(ExplainTest, AffinityMatchesNone) {
  Machines(3);
  Sync(Fast("p", 2));
  EXPECT_THAT(Obstacles("p"),
              ElementsAre(Obstacle{Code::kAffinityMatchesNone, 3, 0,
                                   "3 machines are in service, none matches the affinity."}));
}

TEST_F(ExplainTest, AffinityMatchesFewer) {
  Machines(3);
  Machines(1, fast_);
  Sync(Fast("p", 2));
  EXPECT_THAT(Obstacles("p"),
              ElementsAre(Obstacle{Code::kAffinityMatchesFewer, 1, 0,
                                   "1 machine is in service that match the affinity; 2 Nodes are "
                                   "wanted."}));
}

TEST_F(ExplainTest, FewerInServiceAndFewerThatMatch) {
  Machines(1);
  Machines(2, fast_);
  Sync(Want("other", 1));
  Sync(Fast("p", 4));
  EXPECT_THAT(Obstacles("p"),
              ElementsAre(Obstacle{Code::kAffinityMatchesFewer, 2, 0,
                                   "2 machines are in service that match the affinity; 4 Nodes "
                                   "are wanted."},
                          Obstacle{Code::kFewerInService, 3, 0,
                                   "3 machines are in service; 4 Nodes are wanted."}));
}

// "Machines already held stay when the affinity changes": of these no others need match.
TEST_F(ExplainTest, EnoughMatchBesideWhatIsHeldWithoutMatching) {
  Machines(3);
  Sync(Want("p", 3));
  Machines(2, fast_);
  Sync(Want("other", 2));
  Sync(Fast("p", 4));
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kQueued);
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kHeldByOthers, 2, 1,
                                                   "2 machines are held by 1 other claim."}));
}

TEST_F(ExplainTest, QueuedBehindAndHeldByOthers) {
  Machines(3);
  Sync(Want("a", 2));
  Sync(Want("b", 3));
  Sync(Want("c", 4));
  Sync(Want("p", 1));
  Sync(Want("c", 5));
  Sync(Want("p", 3));
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kQueuedBehind, 7, 2,
                                                   "7 Nodes are ahead in the queue, of 2 other "
                                                   "claims."},
                                          Obstacle{Code::kHeldByOthers, 3, 2,
                                                   "3 machines are held by 2 other claims."}));
}

TEST_F(ExplainTest, OnlyMachinesThatMatchAreToldOf) {
  Machines(2);
  Machines(2, fast_);
  Sync(Want("a", 3));
  Sync(Fast("b", 1));
  Sync(Fast("p", 2));
  const auto holders = world_.state().FindMachine("m2")->claim == "a" ? 2 : 1;
  EXPECT_THAT(
      Obstacles("p"),
      ElementsAre(Obstacle{Code::kHeldByOthers, 2, holders,
                           absl::StrCat("2 machines are held by ", holders,
                                        holders == 1 ? " other claim." : " other claims.")}));
}

// Its earlier request is no gang ahead of it.
TEST_F(ExplainTest, AGangIsNotBehindItself) {
  Machines(3);
  Sync(Want("x", 2));
  Sync(Gang("g", 2));
  Sync(Gang("g", 4));
  EXPECT_THAT(Obstacles("g"), Contains(Field(&Obstacle::code, Code::kGangIncomplete)));
  EXPECT_THAT(Obstacles("g"), Not(Contains(Field(&Obstacle::code, Code::kKeptForGang))));
  // Nor is a whole rack that it keeps for itself none.
  world_.RegisterRack("f", "r", World::kNodesPerRack, World::kRackType);
  Sync(Racks("y", World::kNodesPerRack));
  world_.RegisterRack("f", "q", World::kNodesPerRack, World::kRackType);
  for (const int64_t nodes : {2, 4}) {
    SyncClaim racks = Racks("h", nodes * World::kNodesPerRack);
    racks.gang = true;
    Sync(racks);
  }
  EXPECT_THAT(Obstacles("h"), Not(Contains(Field(&Obstacle::code, Code::kNoWholeRack))));
}

TEST_F(ExplainTest, GangIncompleteAndKeptForGang) {
  Machines(2);
  Sync(Want("holder", 2));
  Machines(3);
  Sync(Gang("gang", 5));
  EXPECT_THAT(
      Obstacles("gang"),
      ElementsAre(Obstacle{Code::kGangIncomplete, 3, 0,
                           "3 machines are free; 5 Nodes are wanted at once or not at "
                           "all."},
                  Obstacle{Code::kHeldByOthers, 2, 1, "2 machines are held by 1 other claim."}));
  Sync(Want("p", 1));
  EXPECT_THAT(
      Obstacles("p"),
      ElementsAre(
          Obstacle{Code::kQueuedBehind, 5, 1, "5 Nodes are ahead in the queue, of 1 other claim."},
          Obstacle{Code::kKeptForGang, 3, 1,
                   "3 free machines are kept for 1 gang ahead in the queue."},
          Obstacle{Code::kHeldByOthers, 2, 1, "2 machines are held by 1 other claim."}));
}

TEST_F(ExplainTest, OfAGangTheRequestThatIsShortIsTold) {
  Machines(2);
  Sync(Want("holder", 1));
  Sync(Gang("gang", 1));
  Sync(Gang("gang", 4));
  Machines(1);
  EXPECT_EQ(Obstacles("gang")[1],
            (Obstacle{Code::kGangIncomplete, 1, 0,
                      "1 machine is free; 3 Nodes are wanted at once or not at all."}));
}

// A whole rack that a gang keeps is there, and is not in pieces.
TEST_F(ExplainTest, ARackThatIsKeptForAGangIsNotToldToBeInPieces) {
  world_.RegisterRack("f", "r1", 4, World::kRackType);
  world_.RegisterRack("f", "r2", 4, World::kRackType);
  const auto of_racks = [](SyncClaim claim) {
    claim.instance_type = World::kRackType;
    return claim;
  };
  Sync(of_racks(Want("holder", 4)));
  Sync(of_racks(Gang("gang", 8)));
  Sync(of_racks(Want("p", 4)));
  const std::vector<Obstacle> told = Obstacles("p");
  EXPECT_THAT(told, Contains(Obstacle{Code::kKeptForGang, 4, 1,
                                      "4 free machines are kept for 1 gang ahead in the queue."}));
  EXPECT_THAT(told, Not(Contains(Field(&Obstacle::code, Code::kNoWholeRack))));
}

TEST_F(ExplainTest, WhatAGangLostIsNotWantedAtOnce) {
  Machines(2);
  Sync(Gang("gang", 2));
  SyncClaim lost = Gang("gang", 2);
  lost.returns = {{world_.MachinesOf("gang")[0], ReturnReason::kBroken}};
  Sync(lost);
  EXPECT_THAT(Obstacles("gang"), Not(Contains(Field(&Obstacle::code, Code::kGangIncomplete))));
}

TEST_F(ExplainTest, AGangForWhichNothingIsKeptAnyMoreIsToldSo) {
  Machines(3);
  Sync(Want("holder", 1));
  Sync(Gang("gang", 3));
  const absl::Time keeps_after = world_.now();
  EXPECT_THAT(Explain(world_.state(), *world_.state().FindClaim("gang"), keeps_after)[0].message,
              EndsWith("at once or not at all. They waited too long for free machines to be kept "
                       "for them: default claims behind them get these."));
  EXPECT_THAT(
      Explain(world_.state(), *world_.state().FindClaim("gang"), absl::InfiniteFuture())[0].message,
      EndsWith("at once or not at all. Free machines are not kept for them: default claims "
               "behind them get these."))
      << "it has not waited at all";
  Sync(Want("p", 1));
  EXPECT_THAT(Explain(world_.state(), *world_.state().FindClaim("p"), keeps_after),
              Not(Contains(Field(&Obstacle::code, Code::kKeptForGang))));
}

TEST_F(ExplainTest, NoWholeRack) {
  world_.RegisterRack("f", "r1", 3, World::kRackType);
  world_.RegisterRack("f", "r2", 4, World::kRackType);
  Sync(Racks("other", 4));
  Sync(Racks("p", 4));
  EXPECT_THAT(
      Obstacles("p"),
      ElementsAre(Obstacle{Code::kNoWholeRack, 3, 0,
                           "3 machines are free, but gb200-4x is granted in whole racks "
                           "of 4 only."},
                  Obstacle{Code::kHeldByOthers, 4, 1, "4 machines are held by 1 other claim."}));
}

TEST_F(ExplainTest, LessThanARackIsNeverGranted) {
  world_.RegisterRack("f", "r1", 4, World::kRackType);
  Sync(Racks("p", 2));
  EXPECT_THAT(Obstacles("p"),
              ElementsAre(Obstacle{Code::kNoWholeRack, 4, 0,
                                   "4 machines are free, but gb200-4x is granted in whole racks "
                                   "of 4 only."}));
}

// Too few whole racks for a gang are whole ones, also where it keeps none of them.
TEST_F(ExplainTest, AWholeRackIsNotToldToBeInPiecesToAGangThatKeepsNothing) {
  world_.RegisterRack("f", "r1", World::kNodesPerRack, World::kRackType);
  SyncClaim gang = Racks("gang", 2 * World::kNodesPerRack);
  gang.gang = true;
  Sync(gang);  // which can never be met
  EXPECT_THAT(Obstacles("gang"), Contains(Field(&Obstacle::code, Code::kGangIncomplete)));
  EXPECT_THAT(Obstacles("gang"), Not(Contains(Field(&Obstacle::code, Code::kNoWholeRack))));
  Sync(Racks("holder", World::kNodesPerRack));
  world_.RegisterRack("f", "r2", World::kNodesPerRack, World::kRackType);
  EXPECT_THAT(Explain(world_.state(), *world_.state().FindClaim("gang"), world_.now()),
              Not(Contains(Field(&Obstacle::code, Code::kNoWholeRack))));
  world_.RegisterRack("f", "r3", 1, World::kRackType);
  EXPECT_THAT(Obstacles("gang"),
              Contains(Obstacle{Code::kNoWholeRack, 1, 0,
                                "1 machine is free, but gb200-4x is granted in whole racks of 4 "
                                "only."}));
}

// It has the racks that it wants; what it misses is no rack.
TEST_F(ExplainTest, PartOfARackIsNeverGrantedToAGangEither) {
  world_.RegisterRack("f", "r1", World::kNodesPerRack, World::kRackType);
  world_.RegisterRack("f", "r2", World::kNodesPerRack, World::kRackType);
  SyncClaim gang = Racks("gang", World::kNodesPerRack + 1);
  gang.gang = true;
  Sync(gang);
  EXPECT_THAT(Obstacles("gang"), Contains(Field(&Obstacle::code, Code::kNoWholeRack)));
}

TEST_F(ExplainTest, WhoHoldsMachinesOfSeveralLabelsCountsOnce) {
  world_.RegisterLabelled({"a1", "a2"}, "disk", "nvme");
  world_.RegisterLabelled({"b1"}, "disk", "ssd");
  world_.RegisterLabelled({"c1"}, "disk", "hdd");
  Sync(Want("both", 3));
  Sync(Want("hdd", 1));
  Sync(World::Where(Want("p", 1), "disk", {"nvme", "ssd"}));
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kHeldByOthers, 3, 1,
                                                   "3 machines are held by 1 other claim."}));
  world_.RegisterLabelled({"c1"}, "disk", "ssd");
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kHeldByOthers, 4, 2,
                                                   "4 machines are held by 2 other claims."}));
  Sync(world_.Want("hdd", 0, {{"c1", ReturnReason::kReleased}}));  // now p's
  Sync(Want("p", 2));
  EXPECT_THAT(Obstacles("p"), ElementsAre(Obstacle{Code::kHeldByOthers, 3, 1,
                                                   "3 machines are held by 1 other claim."}));
}

// Rows as they are while spot machines are being reclaimed.
TEST_F(ExplainTest, BeingReclaimed) {
  MachineRow machine = World::Machine("m0");
  machine.state = MachineState::kReclaiming;
  machine.claim = "spot";
  machine.compute_class = ComputeClass::kSpot;
  machine.request_time = machine.reclaim_time = world_.now();
  machine.earmark = "p";
  State state = world_.state();
  state.Apply({machine.Key(), std::make_shared<const MachineRow>(machine)}, 100);
  ClaimRow claim{.pool_uid = "p", .generation = 1, .zone = World::kZone};
  claim.instance_type = World::kType;
  claim.nodes = 1;
  claim.parts = {{world_.now(), 1}};
  state.Apply({claim.Key(), std::make_shared<const ClaimRow>(claim)}, 101);
  EXPECT_THAT(
      Explain(state, claim),
      ElementsAre(Obstacle{Code::kBeingReclaimed,
                           1,
                           0,
                           "1 machine is being reclaimed from spot for this claim.",
                           {{world_.now(), "m0"}},
                           world_.now()},
                  Obstacle{Code::kHeldByOthers, 1, 1, "1 machine is held by 1 other claim."}));
}

// A short random history of one world.
class History {
 public:
  explicit History(uint32_t seed) : random_(seed) {
    world_.AddCatalogue();
    for (int step = 0; step < 25; ++step) Step();
  }
  const State& state() const { return world_.state(); }

 private:
  int Pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  void Step() {
    world_.Advance(absl::Seconds(1));
    switch (Pick(8)) {
      case 0:
        return Register();
      case 1:
        (void)world_.Do(SetMachineState{absl::StrCat("m", Pick(12)), MachineState::kInRepair});
        return;
      case 2:
        if (Pick(6) == 0) world_.Do(UpdateZone{{.id = World::kZone}});
        if (Pick(3) == 0)
          world_.Do(UpdateZone{{World::kZone,
                                Pick(2) == 0 ? ZoneAccess::kDedicated : ZoneAccess::kGeneral,
                                {World::kRackType, World::kType}}});
        return;
      default:
        return Sync();
    }
  }
  void Register() {
    if (Pick(2) == 0) {
      MachineRow machine = World::Machine(absl::StrCat("m", Pick(12)));
      if (Pick(2) == 0) machine.labels = {{"disk", "nvme"}};
      (void)world_.Do(RegisterMachines{{machine}});
    } else {
      world_.RegisterRack("f", absl::StrCat("r", Pick(3)), 1 + Pick(World::kNodesPerRack),
                          World::kRackType);
    }
  }
  void Sync() {
    const std::string uid = absl::StrCat("p", Pick(6));
    const bool known = world_.state().FindClaim(uid) != nullptr;
    SyncClaim claim = world_.Want(uid, Pick(7));
    if (!known && Pick(3) == 0) claim.instance_type = World::kRackType;
    if (!known && Pick(3) == 0) claim.compute_class = ComputeClass::kSpot;
    if (Pick(3) == 0) claim.affinity = {{{{{"disk", AffinityOperator::kExists, {}}}}}};
    claim.gang = Pick(3) == 0;
    claim.priority = Pick(3);
    for (const MachineRow* machine : world_.state().FootprintOf(uid).machines) {
      if (Pick(3) == 0)
        claim.returns.push_back(
            {machine->id, Pick(2) == 0 ? ReturnReason::kBroken : ReturnReason::kReleased});
    }
    (void)world_.Do(claim);
  }

  World world_;
  std::mt19937 random_;
};

TEST(ExplainProperty, EmptyExactlyWhenNothingIsOutstandingAndTheTypeIsOffered) {
  int64_t told = 0;
  for (uint32_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    const History history(seed);
    for (const auto& [key, versioned] : history.state().table<ClaimRow>().rows()) {
      const ClaimRow& claim = *versioned.row;
      const auto obstacles = Explain(history.state(), claim);
      const bool offered = OfferOf(history.state(), claim.zone, claim.instance_type,
                                   claim.compute_class) == Offer::kOffered;
      ASSERT_EQ(obstacles.empty(), Outstanding(claim.parts) == 0 && offered) << key;
      // In the order of the codes, each once.
      for (size_t i = 1; i < obstacles.size(); ++i) {
        ASSERT_LT(obstacles[i - 1].code, obstacles[i].code);
      }
      told += static_cast<int64_t>(obstacles.size());
    }
  }
  EXPECT_GT(told, 3'000);
}

// "from `default` claims behind it only"
TEST_F(ExplainTest, WhatIsKeptForAGangIsNotKeptFromSpot) {
  Machines(2);
  Sync(Want("holder", 2));
  Machines(3);
  Sync(Gang("gang", 5));
  SyncClaim spot = Gang("s", 4);
  spot.compute_class = ComputeClass::kSpot;
  Sync(spot);
  EXPECT_THAT(Obstacles("s"), Contains(Field(&Obstacle::code, Code::kGangIncomplete)));
  EXPECT_THAT(Obstacles("s"), Not(Contains(Field(&Obstacle::code, Code::kKeptForGang))));
}

}  // namespace
}  // namespace muster::capacity
