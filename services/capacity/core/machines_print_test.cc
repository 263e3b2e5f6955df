#include "services/capacity/core/machines_print.h"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Staged = StagedState<State>;

// The claim `p` holds r-0 and r-1.
class MachinesPrintTest : public testing::Test {
 protected:
  MachinesPrintTest() {
    world_.AddCatalogue();
    world_.RegisterRack("f", "r", 2);
    known_ = world_.Do(world_.Want("p", 2)).value();
    known_.granted.clear();
    world_.RegisterSome(2);
    world_.Advance(absl::Minutes(1));
  }

  // The request is repeated by somebody who has that answer.
  static ClaimView Again(World& world, const std::string& known, const std::string& uid = "p") {
    SyncClaim again = world.Want(uid, 0);
    --again.generation;
    again.known_machines = known;
    return world.Do(again).value();
  }
  static void Edit(Staged& staged, const std::string& id,
                   const std::function<void(MachineRow&)>& edit) {
    MachineRow machine = *staged.state().FindMachine(id);
    edit(machine);
    staged.Put(std::move(machine));
  }
  static void Free(MachineRow& machine) {
    machine.state = MachineState::kFree;
    machine.claim.clear();
    machine.request_time.reset();
  }

  World world_;
  ClaimView known_;
};

TEST_F(MachinesPrintTest, WhatIsKnownIsLeftOut) {
  ASSERT_THAT(known_.machines, ElementsAre("r-0", "r-1"));
  EXPECT_FALSE(known_.machines_unchanged);
  EXPECT_THAT(known_.machines_print, SizeIs(32));
  const ClaimView again = Again(world_, known_.machines_print);
  EXPECT_TRUE(again.machines_unchanged);
  EXPECT_THAT(again.machines, IsEmpty());
  EXPECT_THAT(again.racks, IsEmpty());
  EXPECT_THAT(again.request_times, IsEmpty());
  EXPECT_THAT(again.grant_times, IsEmpty());
  EXPECT_EQ(again.machines_print, known_.machines_print);
  for (const std::string& other : {std::string(), std::string("x"), std::string(64, 'x')}) {
    const ClaimView whole = Again(world_, other);
    EXPECT_FALSE(whole.machines_unchanged);
    EXPECT_THAT(whole.machines, ElementsAre("r-0", "r-1"));
  }
}

// Whatever else an answer says is never left out.
TEST_F(MachinesPrintTest, AllElseIsToldAsEver) {
  world_.RegisterSome(2);
  ClaimView again = Again(world_, known_.machines_print);
  EXPECT_TRUE(again.machines_unchanged);
  EXPECT_EQ(again.in_service, 6);
  EXPECT_EQ(again.reason, ClaimReason::kSufficient);
  // It goes on holding what it holds while others take the rest, and what it waits for changes.
  const ClaimView more = world_.Do(world_.Want("p", 8)).value();
  ASSERT_THAT(more.machines, SizeIs(6));
  again = Again(world_, more.machines_print);
  EXPECT_TRUE(again.machines_unchanged);
  EXPECT_EQ(again.claim, more.claim);
  EXPECT_EQ(again.reason, ClaimReason::kPartial) << "it holds some, told or not";
  EXPECT_EQ(again.queue, more.queue);
}

TEST_F(MachinesPrintTest, ReclaimsAreToldOfMachinesThatAreKnown) {
  const ClaimView spot = world_.Do(world_.WantSpot("s", 2)).value();
  ASSERT_THAT(spot.machines, ElementsAre("m0", "m1"));
  world_.Advance(absl::Minutes(1));
  ASSERT_TRUE(world_.Do(world_.Want("q", 1)).ok());
  const ClaimView again = Again(world_, spot.machines_print, "s");
  EXPECT_TRUE(again.machines_unchanged);
  EXPECT_THAT(again.reclaims, SizeIs(1));
}

// Each kind of change of what the lists say, and of whom they are said.
TEST_F(MachinesPrintTest, EveryChangeIsToldWhole) {
  const auto edits = [](const std::string& id, std::function<void(MachineRow&)> edit) {
    return [=](Staged& staged) { Edit(staged, id, edit); };
  };
  const auto take = [](const MachineRow& from, MachineRow& to) {
    to.state = MachineState::kHeld;
    to.claim = from.claim;
    to.request_time = from.request_time;
    to.state_time = from.state_time;
    to.rack = from.rack;
  };
  const std::vector<std::pair<const char*, std::function<void(Staged&)>>> changes = {
      {"a rack is renamed", edits("r-0", [](MachineRow& m) { m.rack = "s"; })},
      {"its rack is not known any more", edits("r-0", [](MachineRow& m) { m.rack = ""; })},
      {"it was asked for at another time",
       edits("r-0", [](MachineRow& m) { *m.request_time += absl::Microseconds(1); })},
      {"it is held by another grant",
       edits("r-0", [](MachineRow& m) { m.state_time += absl::Microseconds(1); })},
      {"one goes", edits("r-1", &Free)},
      {"one comes",
       [&](Staged& staged) {
         const MachineRow like = *staged.state().FindMachine("r-0");
         Edit(staged, "m0", [&](MachineRow& m) { take(like, m); });
       }},
      {"another stands in its place",
       [&](Staged& staged) {
         const MachineRow like = *staged.state().FindMachine("r-0");
         Edit(staged, "r-0", &Free);
         Edit(staged, "m0", [&](MachineRow& m) { take(like, m); });
       }},
      {"another request", [](Staged& staged) {
         ClaimRow claim = *staged.state().FindClaim("p");
         ++claim.generation;
         staged.Put(std::move(claim));
       }}};
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    World world = world_;
    world.Change(change);
    const ClaimView whole = Again(world, known_.machines_print);
    EXPECT_FALSE(whole.machines_unchanged);
    EXPECT_NE(whole.machines_print, known_.machines_print);
    EXPECT_EQ(whole, world.View("p"));
    EXPECT_THAT(whole.machines, SizeIs(world.state().FootprintOf("p").machines.size()));
    EXPECT_TRUE(Again(world, whole.machines_print).machines_unchanged);
  }
}

// They were given back, and granted again to a claim that was made anew.
TEST_F(MachinesPrintTest, TheSameMachinesAreNotTheSameClaim) {
  ASSERT_TRUE(world_.Do(world_.Want("x", 2)).ok());
  SyncClaim release = world_.Want("p", 0, World::Returns({"r-0", "r-1"}));
  release.release = true;
  ASSERT_TRUE(world_.Do(release).ok());
  world_.Change([](Staged& staged) { staged.Delete<ReleasedPool>("p"); });
  world_.Advance(absl::Minutes(1));
  const ClaimView anew = world_.Do(world_.Want("p", 2)).value();
  ASSERT_EQ(anew.machines, known_.machines);
  ASSERT_EQ(anew.claim.generation, known_.claim.generation);
  EXPECT_FALSE(Again(world_, known_.machines_print).machines_unchanged);
  // What another claim was told is nothing to this one.
  ClaimRow other = anew.claim;
  other.pool_uid = "q";
  const MachinesPrint sum = world_.state().FootprintOf("p").print;
  EXPECT_NE(PrintOf(other, sum), PrintOf(anew.claim, sum));
}

// Whoever has the rows, in whatever order they came.
TEST_F(MachinesPrintTest, EveryProcessSaysTheSame) {
  std::vector<Revised<State::Change>> rows;
  world_.state().ForEach([&](const Revised<State::Change>& row) { rows.push_back(row); });
  State other;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) other.Apply(row->change, row->revision);
  EXPECT_EQ(ViewOf(other, *other.FindClaim("p")), world_.View("p"));
  EXPECT_TRUE(ViewOf(other, *other.FindClaim("p"), known_.machines_print).machines_unchanged);
  EXPECT_TRUE(other.SameIndexes(world_.state()));
}

// Names and racks that differ little, exchanged.
TEST_F(MachinesPrintTest, TheSumTellsWhichMachineHasWhat) {
  constexpr int kRacks = 16;
  std::set<std::pair<uint64_t, uint64_t>> sums;
  for (int a = 0; a < kRacks; ++a) {
    for (int b = 0; b < kRacks; ++b) {
      const MachinesPrint sum = PrintOf(World::Machine("m0", "f", absl::StrCat("r", a))) +
                                PrintOf(World::Machine("m1", "f", absl::StrCat("r", b)));
      sums.emplace(absl::Uint128High64(sum), absl::Uint128Low64(sum));
    }
  }
  EXPECT_THAT(sums, SizeIs(kRacks * kRacks));
}

}  // namespace
}  // namespace muster::capacity
