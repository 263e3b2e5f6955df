#include "services/page/core/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/page/core/testing/boards.h"

namespace muster::page {
namespace {

using capacity::v1::Machine;
using lifecycle::v1::Node;

TEST(BoardTest, AMachineAndItsNodeAreOneCell) {
  Board board;
  board.Take(MachineMessage("g1", Machine::STATE_HELD, 3));
  board.Take(NodeMessage("g1", Node::STATE_PRODUCTION));
  Reader reader(&board);
  reader.Read();
  const Reader::Cell cell = reader.cell("g1");
  EXPECT_EQ(reader.state("g1"), CellState::kProduction);
  EXPECT_EQ(cell.pool, kPool);
  EXPECT_EQ(cell.profile, "np-1");
  EXPECT_EQ(cell.zone, "Z1A");
  EXPECT_EQ(cell.rack, "r1");
  EXPECT_EQ(cell.slot, 3);
}

TEST(BoardTest, WhereACellStandsIsToldOnce) {
  Board board;
  board.Take(MachineMessage("g1", Machine::STATE_FREE));
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.last()["cells"][0].size(), 11U);
  board.Take(MachineMessage("g1", Machine::STATE_IN_REPAIR));
  reader.Read();
  EXPECT_EQ(reader.last()["cells"][0].size(), 5U);
  EXPECT_EQ(reader.state("g1"), CellState::kInRepair);
  board.Take(MachineMessage("g1", Machine::STATE_IN_REPAIR, 7));
  reader.Read();
  EXPECT_EQ(reader.cell("g1").slot, 7);
}

TEST(BoardTest, ManyChangesOfACellAreToldOnce) {
  Board board;
  Reader reader(&board);
  for (int i = 0; i < 1000; ++i)
    board.Take(MachineMessage("g1", i % 2 == 0 ? Machine::STATE_FREE : Machine::STATE_HELD));
  reader.Read();
  EXPECT_EQ(reader.last()["cells"].size(), 1U);
}

TEST(BoardTest, WhatIsToldAgainIsNoNews) {
  Board board;
  board.Take(MachineMessage("g1", Machine::STATE_FREE));
  board.Take(PoolMessage(4));
  const uint64_t last = board.last();
  board.Take(MachineMessage("g1", Machine::STATE_FREE));
  board.Take(PoolMessage(4));
  EXPECT_EQ(board.last(), last);
}

TEST(BoardTest, PiecesComeToTheSameAsOneWhole) {
  Board board;
  for (int i = 0; i < 100; ++i)
    board.Take(MachineMessage(absl::StrCat("g", i), Machine::STATE_HELD, i));
  for (int i = 0; i < 100; ++i) board.Take(NodeMessage(absl::StrCat("g", i), Node::STATE_BOOTING));
  board.Take(PoolMessage(100));
  Reader whole(&board);
  Reader pieces(&board);
  EXPECT_EQ(whole.Read(), 1);
  EXPECT_GT(pieces.Read(7), 10);
  EXPECT_TRUE(whole == pieces);
}

TEST(BoardTest, ACellThatMovesAheadOfAReaderIsPlacedWhenHeReachesIt) {
  Board board;
  for (int i = 0; i < 3; ++i)
    board.Take(MachineMessage(absl::StrCat("g", i), Machine::STATE_FREE, i));
  const Board::Frame first = board.TellAfter({}, 1);
  board.Take(MachineMessage("g1", Machine::STATE_IN_REPAIR, 1));
  const json rest = json::parse(board.TellAfter(first.place, 1000).json);
  EXPECT_EQ(rest["cells"].size(), 2U);
  for (const json& cell : rest["cells"]) EXPECT_EQ(cell.size(), 11U);
}

TEST(BoardTest, ANodeThatIsGoneLeavesItsMachine) {
  Board board;
  board.Take(MachineMessage("g1", Machine::STATE_FREE));
  board.Take(NodeMessage("g1", Node::STATE_DELETED));
  board.Take(Deleted<LifecycleMessage>(absl::StrCat(kPool, "/nodes/g1")));
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.state("g1"), CellState::kFree);
  EXPECT_EQ(reader.cell("g1").pool, "");
}

TEST(BoardTest, TheNodeOfAnotherPoolStays) {
  Board board;
  board.Take(MachineMessage("g1", Machine::STATE_HELD));
  board.Take(NodeMessage("g1", Node::STATE_DELETED));
  board.Take(NodeMessage("g1", Node::STATE_BOOTING, "organizations/o/clusters/c/nodePools/other"));
  board.Take(Deleted<LifecycleMessage>(absl::StrCat(kPool, "/nodes/g1")));
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.state("g1"), CellState::kBooting);
}

// The earlier one is not purged yet. A snapshot tells them in the order of their names.
TEST(BoardTest, OfTwoNodesOfAMachineTheLaterIsShown) {
  const std::string first = "organizations/acme/clusters/c1/nodePools/a";
  const std::string last = "organizations/acme/clusters/c1/nodePools/z";
  for (const bool later_is_first : {true, false}) {
    SCOPED_TRACE(later_is_first);
    const std::string& earlier = later_is_first ? last : first;
    const std::string& later = later_is_first ? first : last;
    Board board;
    Reader reader(&board);
    const auto tell = [&](const std::string& pool) {
      const bool is_later = pool == later;
      LifecycleMessage node =
          NodeMessage("g1", is_later ? Node::STATE_BOOTING : Node::STATE_DELETED, pool);
      node.mutable_node()->mutable_create_time()->set_seconds(is_later ? 20 : 10);
      node.mutable_node()->mutable_protect_until_time()->set_seconds(is_later ? 200 : 100);
      board.Take(node);
    };
    const auto expect_shown = [&](const std::string& pool) {
      reader.Read();
      EXPECT_EQ(reader.cell("g1").pool, pool);
      EXPECT_EQ(reader.state("g1"), pool == later ? CellState::kBooting : CellState::kLeaving);
      EXPECT_EQ(reader.document("protection", "g1"),
                (json{{"until", pool == later ? 200'000 : 100'000}}));
    };
    const auto snapshot = [&](bool with_later) {
      board.BeginSnapshot(Source::kLifecycle);
      for (const std::string& pool : {first, last}) {
        if (with_later || pool == earlier) tell(pool);
      }
      board.Take(EndOfSnapshot<LifecycleMessage>());
    };
    board.Take(MachineMessage("g1", Machine::STATE_HELD));
    snapshot(true);
    expect_shown(later);
    // It changes once more.
    tell(earlier);
    expect_shown(later);
    // The later one ended while no stream was open.
    snapshot(false);
    expect_shown(earlier);
    snapshot(true);
    expect_shown(later);
    board.Take(Deleted<LifecycleMessage>(absl::StrCat(earlier, "/nodes/g1")));
    expect_shown(later);
  }
}

TEST(BoardTest, AMachineHeldByAPoolShowsItBeforeItIsANode) {
  Board board;
  CapacityMessage held = MachineMessage("g1", Machine::STATE_HELD);
  held.mutable_machine()->set_claim("u1");
  board.BeginSnapshot(Source::kLifecycle);
  board.Take(held);
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.cell("g1").pool, "");
  board.Take(PoolMessage(1));
  board.Take(EndOfSnapshot<LifecycleMessage>());
  reader.Read();
  EXPECT_EQ(reader.cell("g1").pool, kPool);
}

TEST(BoardTest, WithoutCapacityANodeStandsWhereItsPoolIs) {
  Board board;
  board.Take(PoolMessage(1));
  board.Take(NodeMessage("g1", Node::STATE_PRODUCTION));
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.cell("g1").zone, "Z1A");
  EXPECT_EQ(reader.cell("g1").type, "t");
  board.Take(Deleted<LifecycleMessage>(absl::StrCat(kPool, "/nodes/g1")));
  reader.Read();
  EXPECT_EQ(reader.cell("g1"), Reader::Cell());
}

TEST(BoardTest, WithoutCapacityANodeMovesToAnotherRack) {
  Board board;
  board.Take(PoolMessage(1));
  LifecycleMessage node = NodeMessage("g1", Node::STATE_PRODUCTION);
  node.mutable_node()->set_rack("r1");
  board.Take(node);
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.cell("g1").rack, "r1");
  node.mutable_node()->set_rack("r2");
  board.Take(node);
  reader.Read();
  EXPECT_EQ(reader.cell("g1").rack, "r2");
  EXPECT_EQ(reader.cell("g1").zone, "Z1A");
}

TEST(BoardTest, WhatASnapshotLeavesOutIsGone) {
  Board board;
  board.Take(MachineMessage("g1", Machine::STATE_FREE));
  board.Take(MachineMessage("g2", Machine::STATE_FREE));
  board.Take(PoolMessage(1));
  board.Take(QuotaLimit(8));
  board.Take(HoldingMessage("u1", 3));
  Reader reader(&board);
  reader.Read();
  for (const Source source : {Source::kCapacity, Source::kLifecycle, Source::kQuota})
    board.BeginSnapshot(source);
  board.Take(MachineMessage("g1", Machine::STATE_FREE));
  board.Take(EndOfSnapshot<CapacityMessage>());
  board.Take(EndOfSnapshot<LifecycleMessage>());
  board.Take(EndOfSnapshot<QuotaMessage>());
  reader.Read();
  EXPECT_EQ(reader.state("g1"), CellState::kFree);
  EXPECT_EQ(reader.cell("g2"), Reader::Cell());
  EXPECT_TRUE(reader.document("pool", kPool).is_null());
  EXPECT_TRUE(reader.document("quota", kQuota).is_null());
}

TEST(BoardTest, AQuotaShowsWhatItsPoolsHold) {
  Board board;
  Reader reader(&board);
  board.Take(HoldingMessage("u1", 3));
  reader.Read();
  EXPECT_EQ(reader.document("quota", kQuota)["set"], false);
  board.Take(QuotaLimit(8));
  board.Take(HoldingMessage("u2", 2));
  board.Take(HoldingMessage("u1", 4));
  reader.Read();
  const json quota = reader.document("quota", kQuota);
  EXPECT_EQ(quota["held"], 6);
  EXPECT_EQ(quota["inForce"], 8);
  EXPECT_EQ(quota["organization"], "acme");
  EXPECT_EQ(quota["type"], "t");
  board.Take(Deleted<QuotaMessage>(absl::StrCat(kQuota, "/holdings/u1")));
  board.Take(Deleted<QuotaMessage>(absl::StrCat(kQuota, "/holdings/u2")));
  board.Take(Deleted<QuotaMessage>(kQuota));
  reader.Read();
  EXPECT_TRUE(reader.document("quota", kQuota).is_null());
}

TEST(BoardTest, NothingIsKeptOfAKeyOnWhichNothingIsHeld) {
  Board board;
  board.Take(HoldingMessage("u1", 0));
  EXPECT_EQ(board.quota_rows(), 0U);
  board.Take(HoldingMessage("u1", 0));
  EXPECT_EQ(board.quota_rows(), 0U);
  board.Take(Deleted<QuotaMessage>(absl::StrCat(kQuota, "/holdings/u1")));
  EXPECT_EQ(board.quota_rows(), 0U);
  // A snapshot leaves it out.
  board.Take(HoldingMessage("u2", 0));
  board.BeginSnapshot(Source::kQuota);
  board.Take(EndOfSnapshot<QuotaMessage>());
  EXPECT_EQ(board.quota_rows(), 0U);
  // It goes with its last Node.
  board.Take(HoldingMessage("u3", 2));
  EXPECT_EQ(board.quota_rows(), 1U);
  board.Take(HoldingMessage("u3", 0));
  EXPECT_EQ(board.quota_rows(), 0U);
}

TEST(BoardTest, AClaimIsInTheQueueWhileItWaits) {
  Board board;
  Reader reader(&board);
  CapacityMessage message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key("claims/u1");
  message.mutable_claim()->set_outstanding(2);
  message.mutable_claim()->set_gang(true);
  // As capacity keeps what is asked for in one call apart.
  for (const int microsecond : {0, 1}) {
    auto& part = *message.mutable_claim()->add_parts();
    part.mutable_request_time()->set_seconds(5);
    part.mutable_request_time()->set_nanos(1000 * microsecond);
    part.set_nodes(1);
  }
  board.Take(message);
  reader.Read();
  EXPECT_EQ(reader.document("claim", "u1")["parts"],
            (json{{{"time", 5'000'000}, {"nodes", 1}, {"atOnce", true}},
                  {{"time", 5'000'001}, {"nodes", 1}, {"atOnce", true}}}));
  EXPECT_EQ(reader.document("claim", "u1")["places"], json::array());
  // What a gang lost is replaced machine by machine.
  message.mutable_claim()->add_lost_times()->set_seconds(5);
  auto& place = *message.mutable_claim()->add_places();
  place.mutable_time()->set_seconds(3);
  place.set_nodes(2);
  place.set_asked_by("u2");
  board.Take(message);
  reader.Read();
  EXPECT_EQ(reader.document("claim", "u1")["parts"][0]["atOnce"], false);
  EXPECT_EQ(reader.document("claim", "u1")["parts"][1]["atOnce"], true);
  EXPECT_EQ(reader.document("claim", "u1")["places"],
            (json::array({{{"time", 3'000'000}, {"nodes", 2}, {"askedBy", "u2"}}})));
  message.mutable_claim()->set_outstanding(0);
  board.Take(message);
  reader.Read();
  EXPECT_TRUE(reader.document("claim", "u1").is_null());
}

TEST(BoardTest, AMachineThatIsReclaimedHasAClock) {
  Board board;
  Reader reader(&board);
  CapacityMessage reclaimed = MachineMessage("g1", Machine::STATE_RECLAIMING);
  reclaimed.mutable_machine()->set_claim("u1");
  reclaimed.mutable_machine()->set_earmark("u2");
  reclaimed.mutable_machine()->mutable_reclaim_time()->set_seconds(10);
  board.Take(reclaimed);
  LifecycleMessage node = NodeMessage("g1", Node::STATE_DRAINING);
  node.mutable_node()->mutable_preempt_time()->set_seconds(11);
  node.mutable_node()->mutable_desired()->mutable_drain_time()->set_seconds(130);
  node.mutable_node()->mutable_desired()->mutable_drain_deadline()->set_seconds(430);
  board.Take(node);
  reader.Read();
  EXPECT_EQ(reader.state("g1"), CellState::kReclaiming);
  EXPECT_EQ(reader.document("clock", "g1"), (json{{"start", 10'000},
                                                  {"for", "u2"},
                                                  {"pool", "u1"},
                                                  {"drain", 130'000},
                                                  {"deadline", 430'000}}));
  board.Take(MachineMessage("g1", Machine::STATE_FREE));
  board.Take(Deleted<LifecycleMessage>(absl::StrCat(kPool, "/nodes/g1")));
  reader.Read();
  EXPECT_TRUE(reader.document("clock", "g1").is_null());
}

// Whether it is over is for whoever shows it to say.
TEST(BoardTest, AProtectionIsToldWithItsEnd) {
  Board board;
  Reader reader(&board);
  LifecycleMessage node = NodeMessage("g1", lifecycle::v1::Node::STATE_PRODUCTION);
  const auto told = [&] {
    board.Take(node);
    reader.Read();
    return reader.document("protection", "g1");
  };
  EXPECT_TRUE(told().is_null());
  node.mutable_node()->mutable_protect_until_time()->set_seconds(10);
  EXPECT_EQ(told(), (json{{"until", 10'000}}));
  node.mutable_node()->mutable_protect_until_time()->set_seconds(20);
  EXPECT_EQ(told(), (json{{"until", 20'000}}));
  EXPECT_EQ(reader.cell("g1").flags, 0);
  node.mutable_node()->clear_protect_until_time();
  EXPECT_TRUE(told().is_null());
  node.mutable_node()->mutable_protect_until_time()->set_seconds(30);
  EXPECT_FALSE(told().is_null());
  board.Take(Deleted<LifecycleMessage>(absl::StrCat(kPool, "/nodes/g1")));
  reader.Read();
  EXPECT_TRUE(reader.document("protection", "g1").is_null());
}

TEST(BoardTest, PlacesAloneAreWhereMachinesStandAndWhatTheyAreOf) {
  Board now;
  now.Take(MachineMessage("g1", capacity::v1::Machine::STATE_IN_REPAIR, 3));
  now.Take(NodeMessage("g2", lifecycle::v1::Node::STATE_PRODUCTION));
  now.Take(PoolMessage(4));
  now.Take(QuotaLimit(9));
  CapacityMessage type;
  type.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  type.set_key("instanceTypes/t");
  type.mutable_instance_type()->set_name(type.key());
  now.Take(type);
  Board then = now.PlacesAlone();
  Reader reader(&then);
  reader.Read();
  const Reader::Cell cell = reader.cell("g1");
  EXPECT_EQ(reader.state("g1"), CellState::kNodeless);
  EXPECT_EQ(cell.zone, "Z1A");
  EXPECT_EQ(cell.rack, "r1");
  EXPECT_EQ(cell.slot, 3);
  EXPECT_EQ(reader.cell("g2"), Reader::Cell());
  EXPECT_TRUE(reader.document("pool", kPool).is_null());
  EXPECT_TRUE(reader.document("quota", kQuota).is_null());
  EXPECT_FALSE(reader.document("type", "t").is_null());
}

// Of the past no machines are told.
TEST(BoardTest, ANodeOfASpotPoolIsSpotWhoeverHoldsItsMachine) {
  Board board;
  LifecycleMessage pool = PoolMessage(4);
  pool.mutable_node_pool()->mutable_spec()->set_compute_class("spot");
  board.Take(pool);
  board.Take(NodeMessage("g1", lifecycle::v1::Node::STATE_PRODUCTION));
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.cell("g1").flags & kCellSpot, kCellSpot);
}

TEST(BoardTest, WhoMissedTheEndOfADocumentBeginsAnew) {
  Board board;
  Reader idle(&board);
  board.Take(PoolMessage(1, "organizations/o/clusters/c/nodePools/first"));
  idle.Read();
  const uint64_t early = board.last();
  board.Take(PoolMessage(1));
  for (size_t i = 0; i <= kMaxGone; ++i) {
    const std::string name = absl::StrCat("organizations/o/clusters/c/nodePools/p", i);
    board.Take(PoolMessage(1, name));
    board.Take(Deleted<LifecycleMessage>(name));
  }
  EXPECT_FALSE(board.CanResumeAt({early, early}));
  EXPECT_TRUE(board.CanResumeAt({}));
  EXPECT_TRUE(board.CanResumeAt({board.last(), 0}));
  EXPECT_FALSE(board.CanResumeAt({board.last() + 1, 0}));
  Reader fresh(&board);
  fresh.Read();
  idle.Read();
  EXPECT_TRUE(fresh == idle);
}

// He begins with what has stood still for longest, and hears nothing of what had ended before he
// came.
TEST(BoardTest, WhoBeginsAfterManyEndsIsToldAll) {
  Board board;
  constexpr int kMachines = 50;
  for (int i = 0; i < kMachines; ++i)
    board.Take(MachineMessage(absl::StrCat("g", i), Machine::STATE_FREE));
  const auto end_many = [&](const std::string& prefix) {
    for (size_t i = 0; i <= kMaxGone; ++i) {
      const std::string name = absl::StrCat("organizations/o/clusters/c/nodePools/", prefix, i);
      board.Take(PoolMessage(1, name));
      board.Take(Deleted<LifecycleMessage>(name));
    }
  };
  end_many("p");
  Board::Frame frame;
  for (int frames = 0; !frame.caught_up; ++frames) {
    ASSERT_LT(frames, 100'000);
    ASSERT_TRUE(board.CanResumeAt(frame.place)) << frame.place.at;
    frame = board.TellAfter(frame.place, 7);
  }
  // What ends while he reads is another thing.
  frame = board.TellAfter({}, 7);
  end_many("q");
  EXPECT_FALSE(board.CanResumeAt(frame.place));
}

// All of these are legal names of organizations, clusters and pools.
TEST(BoardTest, AWordOfTheServersIsANameLikeOthers) {
  Board board;
  for (const std::string pool : {"organizations/nodes/clusters/nodes/nodePools/nodes",
                                 "organizations/holdings/clusters/nodePools/nodePools/holdings"}) {
    board.Take(PoolMessage(1, pool));
    board.Take(NodeMessage("g1", lifecycle::v1::Node::STATE_PRODUCTION, pool));
    Reader reader(&board);
    reader.Read();
    EXPECT_EQ(reader.cell("g1").pool, pool);
    board.Take(Deleted<LifecycleMessage>(pool + "/nodes/g1"));
    reader.Read();
    EXPECT_EQ(reader.cell("g1"), Reader::Cell());
    board.Take(Deleted<LifecycleMessage>(pool));
    reader.Read();
    EXPECT_TRUE(reader.document("pool", pool).is_null());
  }
  const std::string quota = "organizations/holdings/quotas/Z1A~t~default";
  QuotaMessage limit = QuotaLimit(7);
  limit.set_key(quota);
  board.Take(limit);
  QuotaMessage holding = HoldingMessage("u1", 3);
  holding.set_key(quota + "/holdings/u1");
  board.Take(holding);
  Reader reader(&board);
  reader.Read();
  EXPECT_EQ(reader.document("quota", quota)["limit"], 7);
  EXPECT_EQ(reader.document("quota", quota)["held"], 3);
}

TEST(BoardTest, NamesOfWhatIsGoneMakeItOvergrown) {
  Board board;
  const auto move_on = [&](size_t from, size_t until) {
    for (size_t fabric = from; fabric < until; ++fabric) {
      CapacityMessage message = MachineMessage("g1", Machine::STATE_FREE);
      message.mutable_machine()->set_fabric(absl::StrCat("f", fabric));
      board.Take(message);
    }
  };
  move_on(0, kManyWords / 2);
  EXPECT_FALSE(board.Overgrown());
  move_on(kManyWords / 2, kManyWords + 2);
  EXPECT_TRUE(board.Overgrown());
}

TEST(BoardTest, NamesOfWhatIsThereDoNot) {
  Board board;
  for (size_t i = 0; i <= kManyWords; ++i)
    board.Take(PoolMessage(0, absl::StrCat("organizations/o/clusters/c/nodePools/p", i)));
  EXPECT_FALSE(board.Overgrown());
}

TEST(BoardTest, ADocumentThatCameBackIsNotForgotten) {
  Board board;
  Reader reader(&board);
  board.Take(PoolMessage(1));
  board.Take(Deleted<LifecycleMessage>(kPool));
  board.Take(PoolMessage(2));
  for (size_t i = 0; i <= kMaxGone; ++i) {
    const std::string name = absl::StrCat("organizations/o/clusters/c/nodePools/p", i);
    board.Take(PoolMessage(1, name));
    board.Take(Deleted<LifecycleMessage>(name));
  }
  reader.Read();
  EXPECT_EQ(reader.document("pool", kPool)["target"], 2);
}

}  // namespace
}  // namespace muster::page
