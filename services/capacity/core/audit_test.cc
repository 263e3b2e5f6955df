#include "services/capacity/core/audit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/testing/world.h"
#include "services/common/testing/compare_indexes.h"

namespace muster::capacity {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(AuditTest, FindsAClaimOfTooManyParts) {
  World world;
  ClaimRow claim{.pool_uid = "p", .generation = 1, .zone = World::kZone};
  claim.instance_type = World::kType;
  const auto add_part = [&] {
    AddPart(claim.parts, world.now() + absl::Minutes(++claim.nodes), 1);
    world.Change([&](StagedState<State>& staged) { staged.Put(claim); });
  };
  while (claim.parts.size() < kMaxParts) add_part();
  EXPECT_THAT(Audit(world.state()), IsEmpty());
  add_part();
  EXPECT_THAT(Audit(world.state()), ElementsAre(HasSubstr("p has 65 parts, more than 64")));
}

class IndexPartsTest : public ::testing::Test {
 protected:
  IndexPartsTest() {
    world_.AddCatalogue();
    world_.Register({World::Machine("a", "f", "r"), World::Machine("b", "f", "s"),
                     World::Machine("c", "g", "r")});
    (void)world_.Do(world_.Want("p", 2));
  }
  std::vector<std::string> Faults(const State& memory, const State& tables) {
    return CompareIndexes(IndexParts(tables), memory, tables);
  }
  World world_;
};

TEST_F(IndexPartsTest, MemoryIsAsItsRowsAre) {
  EXPECT_THAT(Faults(world_.state(), Rebuild(world_.state())), IsEmpty());
  EXPECT_THAT(Faults(State(), State()), IsEmpty());
}

TEST_F(IndexPartsTest, WhatIsMissingOrTooMuchIsFound) {
  const State before = world_.state();
  const auto differs = [&](const std::string& what) {
    for (const auto& faults : {Faults(before, world_.state()), Faults(world_.state(), before)})
      EXPECT_THAT(faults, Contains(HasSubstr(what)));
  };
  world_.Register({World::Machine("d", "h", "r")});
  differs("Machine ids of gd-8xa100-i128 in US-EAST-04A: ");
  differs("gd-8xa100-i128 in US-EAST-04A: ");
  (void)world_.Do(world_.Want("p", 3));
  differs("What claims hold: ");
  (void)world_.Do(world_.Want("q", 1));
  differs("What is held: ");
  world_.Change([](StagedState<State>& staged) {
    staged.Put(ReleasedPool{.pool_uid = "gone", .generation = 1});
    staged.Put(KeptRequest{.request_id = "r", .answer = "yes", .account = "acme"});
  });
  differs("Released pools: ");
  differs("Kept answers of '': ");
  const std::vector<std::string> kept = Faults(before, world_.state());
  EXPECT_THAT(kept, Contains(HasSubstr("Kept answers of 'acme': ")));
}

}  // namespace
}  // namespace muster::capacity
