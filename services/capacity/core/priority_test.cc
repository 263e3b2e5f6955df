#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/testing/world.h"

// Priority orders the requests of one organization among themselves (queue.h).
namespace muster::capacity {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PriorityTest : public testing::Test {
 protected:
  PriorityTest() { world_.AddCatalogue(); }

  // One second after the last one.
  ClaimView Ask(const std::string& organization, const std::string& uid, int64_t nodes,
                int32_t priority, std::vector<MachineReturn> returns = {}) {
    world_.Advance(absl::Seconds(1));
    SyncClaim claim = world_.Want(uid, nodes, std::move(returns));
    claim.organization = organization;
    claim.priority = priority;
    const auto view = world_.Do(claim);
    EXPECT_TRUE(view.ok()) << view.status();
    return *view;
  }
  void Free(const std::vector<std::string>& ids) {
    std::vector<MachineRow> machines;
    for (const std::string& id : ids) machines.push_back(World::Machine(id));
    world_.Register(std::move(machines));
  }
  int64_t Held(const std::string& uid) const {
    return static_cast<int64_t>(world_.MachinesOf(uid).size());
  }

  World world_;
};

TEST_F(PriorityTest, NoOrganizationComesBeforeAnotherByIt) {
  Ask("acme", "a", 2, 0);
  Ask("umbrella", "b", 2, std::numeric_limits<int32_t>::max());
  Free({"m1", "m2"});
  EXPECT_EQ(Held("a"), 2);
  EXPECT_EQ(Held("b"), 0);
  Free({"m3"});
  EXPECT_EQ(Held("b"), 1);
}

// Of the large request's early places the small one takes as many as it has Nodes.
TEST_F(PriorityTest, AnOrganizationsEarliestPlacesGoToItsHighestPriority) {
  Ask("acme", "large", 5, 0);
  Ask("umbrella", "other", 3, 0);
  Ask("acme", "urgent", 2, 9);
  EXPECT_EQ(world_.View("urgent").queue, (QueuePlace{1, 0}));
  EXPECT_EQ(world_.View("large").queue, (QueuePlace{2, 5}));
  EXPECT_EQ(world_.View("other").queue, (QueuePlace{2, 5}));
  Free({"m1", "m2", "m3", "m4", "m5"});
  EXPECT_EQ(Held("urgent"), 2);
  EXPECT_EQ(Held("large"), 3);
  Free({"m6", "m7", "m8"});
  EXPECT_EQ(Held("other"), 3);
  Free({"m9"});
  EXPECT_EQ(Held("large"), 4);
}

// An old request that never gets its turn must not make all younger ones of its organization old.
TEST_F(PriorityTest, PlacesAreUsedUp) {
  Ask("acme", "old", 1, 0);
  Ask("umbrella", "other", 1, 0);
  Ask("acme", "urgent-1", 1, 9);
  Free({"m1"});
  EXPECT_EQ(Held("urgent-1"), 1);
  Ask("acme", "urgent-2", 1, 9);
  Free({"m2"});
  EXPECT_EQ(Held("other"), 1);
  Free({"m3"});
  EXPECT_EQ(Held("urgent-2"), 1);
  Free({"m4"});
  EXPECT_EQ(Held("old"), 1);
  EXPECT_THAT(Audit(world_.state()), IsEmpty());
}

// A pool whose machines come and go for months is asked for at ever new times.
TEST_F(PriorityTest, PlacesOfManyTimesBecomeOne) {
  Ask("acme", "large", 1, 0);
  Ask("acme", "urgent", 1, 9);
  Free({"m1"});
  ASSERT_EQ(Held("urgent"), 1);
  Ask("umbrella", "other", 1, 0);
  int64_t nodes = 1;
  while (nodes < 200) Ask("acme", "large", ++nodes, 0);
  const ClaimRow claim = world_.View("large").claim;
  EXPECT_LE(claim.places.size(), kMaxParts);
  EXPECT_THAT(Audit(world_.state()), IsEmpty());
  Free({"m2", "m3"});
  EXPECT_EQ(Held("large"), 1) << "the oldest of its places is still what it was";
  EXPECT_EQ(Held("other"), 1);
}

TEST_F(PriorityTest, AMachineLostToRepairIsAskedForAtThePlaceThatItUsedUp) {
  Ask("acme", "old", 1, 0);
  Ask("umbrella", "other", 1, 0);
  Ask("acme", "urgent", 1, 9);
  Free({"m1"});
  Ask("acme", "urgent", 1, 9, {{"m1", ReturnReason::kBroken}});
  EXPECT_EQ(world_.View("urgent").queue, (QueuePlace{1, 0}));
  Free({"m2"});
  EXPECT_EQ(Held("urgent"), 1);
}

// A gang waits for its last place: the organization has no more early ones.
TEST_F(PriorityTest, AGangsTurnIsThatOfItsLastPlace) {
  Ask("acme", "small", 1, 0);
  Ask("umbrella", "other", 1, 0);
  world_.Advance(absl::Seconds(1));
  SyncClaim gang = world_.WantGang("gang", 2);
  gang.organization = "acme";
  gang.priority = 9;
  ASSERT_TRUE(world_.Do(gang).ok());
  Free({"m1"});
  EXPECT_EQ(Held("other"), 1);
  Free({"m2", "m3"});
  EXPECT_EQ(Held("gang"), 2);
}

TEST_F(PriorityTest, WhoWantsLessLosesTheYoungestPlaces) {
  Ask("acme", "large", 2, 0);
  Ask("acme", "urgent", 1, 9);
  Free({"m1"});
  ASSERT_EQ(Held("urgent"), 1);
  EXPECT_THAT(world_.state().FindClaim("large")->places, SizeIs(2));
  Ask("acme", "large", 1, 0);
  EXPECT_THAT(world_.state().FindClaim("large")->places, IsEmpty());  // its own again
  EXPECT_THAT(world_.state().FindClaim("large")->parts, SizeIs(1));
}

TEST_F(PriorityTest, AClaimStaysItsOrganizations) {
  Ask("acme", "p", 1, 0);
  SyncClaim claim = world_.Want("p", 2);
  claim.organization = "umbrella";
  EXPECT_EQ(world_.Do(claim).status().code(), absl::StatusCode::kFailedPrecondition);
}

// Two worlds with the same history but for the priorities of one organization. It asks for more,
// gives back machines that were lost (which: by their number), and nothing else, since what it
// gives back or wants no more follows from what its claims have. The others do anything.
class Twins {
 public:
  explicit Twins(uint32_t seed) : random_(seed) {
    for (World& world : worlds_) world.AddCatalogue();
    spot_ = Roll(2) == 0;
  }

  void Step() {
    const absl::Duration wait = absl::Seconds(Roll(4));
    for (World& world : worlds_) world.Advance(wait);
    switch (Roll(6)) {
      case 0:
      case 1:
        return Register();
      case 2:
        return Break();
      case 3:
        return Other();
      default:
        return Own();
    }
  }

  // Machines that the others hold and that are reclaimed from them, by claim; and how many the
  // organization has.
  static std::map<std::string, std::pair<int64_t, int64_t>> Outcome(const World& world) {
    std::map<std::string, std::pair<int64_t, int64_t>> outcome;
    for (const auto& [key, versioned] : world.state().table<MachineRow>().rows()) {
      const MachineRow& machine = *versioned.row;
      if (machine.claim.empty()) continue;
      auto& [held, reclaiming] = outcome[machine.claim[0] == 'a' ? "own" : machine.claim];
      ++held;
      reclaiming += machine.state == MachineState::kReclaiming ? 1 : 0;
    }
    return outcome;
  }
  const World& world(int which) const { return worlds_[which]; }

 private:
  int Roll(int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(random_); }

  void Register() {
    const int first = machines_;
    machines_ += 1 + Roll(3);
    for (World& world : worlds_) {
      std::vector<MachineRow> machines;
      for (int i = first; i < machines_; ++i)
        machines.push_back(World::Machine(absl::StrCat("m", i)));
      world.Register(std::move(machines));
    }
  }

  static SyncClaim Request(const World& world, const std::string& organization,
                           const std::string& uid, int64_t nodes, bool spot) {
    SyncClaim claim = world.Want(uid, nodes);
    claim.organization = organization;
    if (spot) claim.compute_class = ComputeClass::kSpot;
    return claim;
  }

  void Own() {
    const int pool = Roll(4);
    const std::string uid = absl::StrCat("a", pool);
    const int64_t nodes = wanted_[uid] += Roll(4);
    for (World& world : worlds_) {
      SyncClaim claim = Request(world, "acme", uid, nodes, false);
      claim.priority = &world == &worlds_[0] ? 0 : Roll(5) - 2;
      ASSERT_TRUE(world.Do(claim).ok());
    }
  }

  void Other() {
    const int pool = Roll(4);
    const std::string uid = absl::StrCat("b", pool);
    const int64_t nodes = Roll(5);
    const int32_t priority = Roll(3);
    const int back = Roll(3) == 0 ? Roll(4) : 0;
    for (World& world : worlds_) {
      SyncClaim claim =
          Request(world, pool % 2 == 0 ? "umbrella" : "wonka", uid, nodes, spot_ && pool > 1);
      claim.priority = priority;
      if (world.state().FindClaim(uid) != nullptr) {
        const std::vector<std::string> held = world.MachinesOf(uid);
        for (size_t i = 0; i < held.size() && i < static_cast<size_t>(back); ++i)
          claim.returns.push_back({held[i], ReturnReason::kReleased});
      }
      ASSERT_TRUE(world.Do(claim).ok());
    }
  }

  // One of the organization's machines, the nth place used up.
  void Break() {
    const int nth = Roll(6);
    for (World& world : worlds_) {
      std::map<std::pair<absl::Time, std::string>, std::string> used;  // by place
      for (const auto& [key, versioned] : world.state().table<MachineRow>().rows()) {
        const MachineRow& machine = *versioned.row;
        if (machine.claim.empty() || machine.claim[0] != 'a') continue;
        used[{machine.place_time.value_or(*machine.request_time), machine.id}] = machine.claim;
      }
      if (static_cast<int>(used.size()) <= nth) return;
      const auto& [machine, uid] = *std::next(used.begin(), nth);
      SyncClaim claim = Request(world, "acme", uid, wanted_[uid], false);
      claim.returns = {{machine.second, ReturnReason::kBroken}};
      ASSERT_TRUE(world.Do(claim).ok());
    }
  }

  std::mt19937 random_;
  World worlds_[2];
  std::map<std::string, int64_t> wanted_;
  int machines_ = 0;
  bool spot_ = false;
};

TEST(PriorityPropertyTest, NoOrganizationsPrioritiesChangeAnothersWait) {
  int exchanged = 0;
  for (uint32_t seed = 0; seed < 5'000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Twins twins(seed);
    for (int step = 0; step < 30 && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      twins.Step();
      EXPECT_EQ(Twins::Outcome(twins.world(0)), Twins::Outcome(twins.world(1)));
    }
    for (const auto& [key, versioned] : twins.world(1).state().table<ClaimRow>().rows())
      exchanged += versioned.row->places.empty() ? 0 : 1;
    EXPECT_THAT(Audit(twins.world(1).state()), IsEmpty());
  }
  EXPECT_GT(exchanged, 1'000);
}

}  // namespace
}  // namespace muster::capacity
