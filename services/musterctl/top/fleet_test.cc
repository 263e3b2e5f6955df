#include "services/musterctl/top/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "services/musterctl/top/testing/fleet.h"

namespace muster::musterctl::top {
namespace {

using capacity::v1::Machine;
using lifecycle::v1::Node;
using page::CellState;
using page::Source;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Places(const Fleet& fleet) {
  std::vector<std::string> ids;
  for (const auto* machine : fleet.places()) ids.push_back(machine->id);
  return ids;
}

TEST(FleetTest, MachinesStandByRackAndSlotNumbersAsNumbers) {
  Fleet fleet;
  fleet.Take(MachineIs("a", "r10", 0), kNow);
  fleet.Take(MachineIs("b", "r2", 1), kNow);
  fleet.Take(MachineIs("c", "r2", 0), kNow);
  EXPECT_THAT(Places(fleet), ElementsAre("c", "b", "a"));
  fleet.Take(MachineIs("a", "r1", 0), kNow);
  EXPECT_THAT(Places(fleet), ElementsAre("a", "c", "b"));
  fleet.Take(Gone<Capacity>("machines/c"), kNow);
  EXPECT_THAT(Places(fleet), ElementsAre("a", "b"));
}

TEST(FleetTest, NumbersAreComparedAsNumbers) {
  std::vector<std::string> names = {"r10", "r9b", "r9", "r09", "q", "r", "r9-10", "r9-9"};
  std::sort(names.begin(), names.end(), NaturalLess);
  EXPECT_THAT(names, ElementsAre("q", "r", "r09", "r9", "r9-9", "r9-10", "r9b", "r10"));
}

TEST(FleetTest, AMachineIsWhatItsNodeIs) {
  Fleet fleet;
  fleet.Take(MachineIs("a", "r1", 0, Machine::STATE_HELD), kNow);
  EXPECT_EQ(fleet.machines().at("a").state(), CellState::kHeld);
  fleet.Take(NodeIs("a", "train", Node::STATE_BOOTING), kNow);
  EXPECT_EQ(fleet.machines().at("a").state(), CellState::kBooting);
  fleet.Take(MachineIs("a", "r1", 0, Machine::STATE_RECLAIMING), kNow);
  EXPECT_EQ(fleet.machines().at("a").state(), CellState::kReclaiming);
  // It is another pool's by now.
  fleet.Take(Gone<Lifecycle>(PoolNamed("other") + "/nodes/a"), kNow);
  EXPECT_EQ(fleet.machines().at("a").pool, PoolNamed("train"));
  fleet.Take(Gone<Lifecycle>(PoolNamed("train") + "/nodes/a"), kNow);
  fleet.Take(MachineIs("a", "r1", 0, Machine::STATE_IN_REPAIR), kNow);
  EXPECT_EQ(fleet.machines().at("a").state(), CellState::kInRepair);
}

// The earlier one is not purged yet. A snapshot tells them in the order of their names.
TEST(FleetTest, OfTwoNodesOfAMachineTheLaterIsShown) {
  for (const bool later_is_first : {true, false}) {
    SCOPED_TRACE(later_is_first);
    const std::string earlier = later_is_first ? "z" : "a";
    const std::string later = later_is_first ? "a" : "z";
    Fleet fleet;
    const auto tell = [&](const std::string& pool) {
      const bool is_later = pool == later;
      Lifecycle node = NodeIs("m", pool, is_later ? Node::STATE_BOOTING : Node::STATE_DELETED);
      node.mutable_node()->mutable_create_time()->set_seconds(is_later ? 20 : 10);
      fleet.Take(node, kNow);
    };
    const auto expect_shown = [&](const std::string& pool) {
      EXPECT_EQ(fleet.machines().at("m").pool, PoolNamed(pool));
      EXPECT_EQ(fleet.machines().at("m").state(),
                pool == later ? CellState::kBooting : CellState::kLeaving);
    };
    const auto snapshot = [&](bool with_later) {
      fleet.BeginSnapshot(Source::kLifecycle);
      for (const std::string pool : {"a", "z"}) {
        if (with_later || pool == earlier) tell(pool);
      }
      fleet.Take(EndOfSnapshot<Lifecycle>(), kNow);
    };
    fleet.Take(MachineIs("m", "r1", 0, Machine::STATE_HELD), kNow);
    snapshot(true);
    expect_shown(later);
    // It changes once more.
    tell(earlier);
    expect_shown(later);
    fleet.Take(Gone<Capacity>("machines/m"), kNow);
    tell(earlier);
    expect_shown(later);
    // The later one ended while no stream was open.
    snapshot(false);
    expect_shown(earlier);
    snapshot(true);
    expect_shown(later);
    fleet.Take(Gone<Lifecycle>(PoolNamed(earlier) + "/nodes/m"), kNow);
    expect_shown(later);
  }
}

TEST(FleetTest, ASnapshotLeavesNothingOfTheOneBefore) {
  Fleet fleet;
  const auto tell = [&](const std::string& id) {
    for (const Source source : {Source::kCapacity, Source::kQuota, Source::kLifecycle})
      fleet.BeginSnapshot(source);
    fleet.Take(MachineIs(id, "r1", 0), kNow);
    fleet.Take(ClaimIs(id, 4, 2, absl::Minutes(1)), kNow);
    fleet.Take(PoolIs(id, 2), kNow);
    fleet.Take(NodeIs(id, id, Node::STATE_PRODUCTION), kNow);
    fleet.Take(QuotaIs(id, 5), kNow);
    fleet.Take(HoldingIs(id, "u1", 3), kNow);
    fleet.Take(EndOfSnapshot<Capacity>(), kNow);
    fleet.Take(EndOfSnapshot<Quotas>(), kNow);
    fleet.Take(EndOfSnapshot<Lifecycle>(), kNow);
  };
  tell("one");
  tell("two");
  EXPECT_THAT(Places(fleet), ElementsAre("two"));
  EXPECT_THAT(fleet.machines(), SizeIs(1));
  EXPECT_THAT(fleet.claims(), SizeIs(1));
  EXPECT_THAT(fleet.pools(), SizeIs(1));
  EXPECT_THAT(fleet.quotas(), SizeIs(1));
  EXPECT_EQ(fleet.quotas().begin()->second.held, 3);
  EXPECT_EQ(fleet.PoolOfUid("uid-one"), "");
  EXPECT_EQ(fleet.PoolOfUid("uid-two"), PoolNamed("two"));
  EXPECT_EQ(fleet.last_change(), absl::InfinitePast());
}

// Cells know nothing of each other: what one tells anew is all that it has, and nothing of what
// others have.
TEST(FleetTest, ASnapshotOfOneCellLeavesWhatOthersTold) {
  Fleet fleet;
  const auto tell = [&](size_t cell, const std::string& id) {
    for (const Source source : {Source::kCapacity, Source::kQuota, Source::kLifecycle})
      fleet.BeginSnapshot(source, cell);
    fleet.Take(MachineIs(id, "r1", 0), kNow, cell);
    fleet.Take(ClaimIs(id, 4, 2, absl::Minutes(1)), kNow, cell);
    fleet.Take(PoolIs(id, 2), kNow, cell);
    fleet.Take(NodeIs(id, id, Node::STATE_PRODUCTION), kNow, cell);
    fleet.Take(QuotaIs(id, 5), kNow, cell);
    fleet.Take(HoldingIs(id, "u1", 3), kNow, cell);
    fleet.Take(EndOfSnapshot<Capacity>(), kNow, cell);
    fleet.Take(EndOfSnapshot<Quotas>(), kNow, cell);
    fleet.Take(EndOfSnapshot<Lifecycle>(), kNow, cell);
  };
  tell(0, "east");
  tell(1, "west");
  tell(0, "east-2");
  EXPECT_THAT(Places(fleet), ElementsAre("east-2", "west"));
  EXPECT_THAT(fleet.machines(), SizeIs(2));
  EXPECT_EQ(fleet.machines().at("west").state(), CellState::kProduction);
  EXPECT_THAT(fleet.claims(), SizeIs(2));
  EXPECT_THAT(fleet.pools(), SizeIs(2));
  EXPECT_EQ(fleet.pools().at(PoolNamed("west")).round.cell, 1U);
  EXPECT_THAT(fleet.quotas(), SizeIs(2));
  EXPECT_EQ(fleet.quotas().rbegin()->second.held, 3);
  tell(1, "west-2");
  EXPECT_THAT(Places(fleet), ElementsAre("east-2", "west-2"));
  EXPECT_THAT(fleet.pools(), SizeIs(2));
}

// A cluster is deleted in one cell and made anew in another, and the first one's stream resumes
// late.
TEST(FleetTest, WhatIsGoneFromOneCellLeavesWhatAnotherToldSince) {
  Fleet fleet;
  const auto tell = [&](size_t cell) {
    fleet.Take(MachineIs("m", "r1", 0, Machine::STATE_HELD), kNow, cell);
    fleet.Take(ClaimIs("train", 4, 2, absl::Minutes(1)), kNow, cell);
    fleet.Take(PoolIs("train", 2), kNow, cell);
    fleet.Take(NodeIs("m", "train", Node::STATE_PRODUCTION), kNow, cell);
    fleet.Take(QuotaIs("acme", 5), kNow, cell);
    fleet.Take(HoldingIs("acme", "u1", 3), kNow, cell);
  };
  tell(0);
  tell(1);
  const std::string claim = fleet.claims().begin()->first;
  const std::string quota = fleet.quotas().begin()->first;
  const auto lose = [&](size_t cell) {
    fleet.Take(Gone<Capacity>("claims/" + claim), kNow, cell);
    fleet.Take(Gone<Capacity>("machines/m"), kNow, cell);
    fleet.Take(Gone<Lifecycle>(PoolNamed("train") + "/nodes/m"), kNow, cell);
    fleet.Take(Gone<Lifecycle>(PoolNamed("train")), kNow, cell);
    fleet.Take(Gone<Quotas>(HoldingIs("acme", "u1", 3).key()), kNow, cell);
    fleet.Take(Gone<Quotas>(quota), kNow, cell);
  };
  lose(0);
  EXPECT_THAT(fleet.claims(), SizeIs(1));
  EXPECT_THAT(Places(fleet), ElementsAre("m"));
  EXPECT_EQ(fleet.machines().at("m").state(), CellState::kProduction);
  EXPECT_EQ(fleet.machines().at("m").pool, PoolNamed("train"));
  EXPECT_EQ(fleet.pools().at(PoolNamed("train")).round.cell, 1U);
  ASSERT_THAT(fleet.quotas(), SizeIs(1));
  EXPECT_TRUE(fleet.quotas().at(quota).quota.has_value());
  EXPECT_EQ(fleet.quotas().at(quota).held, 3);
  lose(1);
  EXPECT_THAT(fleet.claims(), IsEmpty());
  EXPECT_THAT(fleet.machines(), IsEmpty());
  EXPECT_THAT(fleet.pools(), IsEmpty());
  EXPECT_THAT(fleet.quotas(), IsEmpty());
}

TEST(FleetTest, HeldIsTheSumOfTheHoldings) {
  Fleet fleet;
  fleet.Take(HoldingIs("acme", "u1", 3), kNow);
  fleet.Take(HoldingIs("acme", "u2", 2), kNow);
  fleet.Take(HoldingIs("acme", "u1", 1), kNow);
  const std::string name = "organizations/acme/quotas/A-1A~gd-8~default";
  EXPECT_EQ(fleet.quotas().at(name).held, 3);
  EXPECT_FALSE(fleet.quotas().at(name).quota);
  fleet.Take(Gone<Quotas>(name + "/holdings/u1"), kNow);
  fleet.Take(Gone<Quotas>(name + "/holdings/u2"), kNow);
  EXPECT_THAT(fleet.quotas(), IsEmpty());
}

TEST(FleetTest, ABundleIsTakenAsAWholeAndAClaimThatIsServedIsGone) {
  Fleet fleet;
  Capacity message = MachineIs("a", "r1", 0);
  *message.add_bundle() = MachineIs("b", "r1", 1);
  *message.add_bundle() = ClaimIs("train", 4, 2, absl::Minutes(1));
  fleet.Take(message, kNow);
  EXPECT_THAT(Places(fleet), ElementsAre("a", "b"));
  EXPECT_EQ(fleet.PoolOfUid("uid-train"), PoolNamed("train"));
  fleet.Take(ClaimIs("train", 4, 0, absl::Minutes(1)), kNow);
  EXPECT_THAT(fleet.claims(), IsEmpty());
  Capacity change = MachineIs("a", "r1", 0, Machine::STATE_HELD, kChanged);
  fleet.Take(change, kNow);
  EXPECT_EQ(fleet.last_change(), kNow);
}

}  // namespace
}  // namespace muster::musterctl::top
