#include "services/kubernetes/brake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/counted_lines.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Verdict = History::Verdict;

const absl::Time kNow = absl::FromUnixSeconds(1'748'626'560);
constexpr absl::Duration kSteady = absl::Hours(3);

class BrakeTest : public ::testing::Test {
 protected:
  BrakeTest() {
    history_.Enter("a");
    history_.Look();
  }
  Brake::Parts MakeParts() {
    return {.cluster = "organizations/beta/clusters/train",
            .limits = {.count = 2, .percent = 10},
            .metrics = &metrics_,
            .history = &history_,
            .look =
                [this] {
                  ++looks_;
                  return pending_;
                },
            .order = [this]() -> absl::StatusOr<Brake::Order> {
              if (!orders_.ok()) return orders_;
              return order_;
            },
            .take = [this](const Brake::Order& order,
                           const Removals& going) -> absl::StatusOr<Brake::Order> {
              if (order.etag != order_.etag) return absl::AbortedError("another order");
              order_.allowed = order_.allowed - going;
              return order_;
            },
            .wake = [this] { ++wakes_; },
            .show =
                [this](const Brake::Candidate& of, const std::string& message, bool begins) {
                  shown_.push_back(absl::StrCat(of.pool, begins ? " begins" : "",
                                                message.empty() ? " is over" : ""));
                },
            .again =
                [this](const std::vector<std::string>& nodes,
                       const std::vector<std::string>& node_pools) {
                  again_.insert(again_.end(), nodes.begin(), nodes.end());
                  again_.insert(again_.end(), node_pools.begin(), node_pools.end());
                }};
  }
  // The v1 Nodes n0, n1, ... of pool p, uids u0, u1, ..., of 10 in all.
  void Miss(int from, int to) {
    pending_.nodes.clear();
    pending_.all_nodes = {0, 10};
    for (int i = from; i < to; ++i)
      pending_.nodes.push_back({.uid = absl::StrCat("u", i),
                                .name = absl::StrCat("n", i),
                                .pool = "p",
                                .pool_uid = "pu",
                                .nodes = 1});
  }
  void Allow(Removals allowed) { order_ = {allowed, kNow + absl::Hours(1), "e"}; }
  std::vector<std::string> Again() { return std::exchange(again_, {}); }
  std::vector<std::string> Shown() { return std::exchange(shown_, {}); }

  prometheus::Registry registry_;
  Metrics metrics_{registry_, "api"};
  History history_{{.metrics = &metrics_,
                    .read = []() -> absl::StatusOr<std::string> { return std::string("a"); },
                    .write = [](const std::string&) { return absl::OkStatus(); },
                    .look = [] { return History::Unknown(); },
                    .show = [](const std::string&, const std::string&) {},
                    .again = [](const History::Unknown&) {}}};
  Brake::PendingRemovals pending_;
  Brake::Order order_;
  absl::Status orders_;
  int looks_ = 0;
  int wakes_ = 0;
  std::vector<std::string> shown_;
  std::vector<std::string> again_;
  Brake brake_{MakeParts()};
};

TEST_F(BrakeTest, AllThatWouldGoDecides) {
  brake_.Look(kNow, kSteady);
  brake_.Look(kNow, kSteady);
  EXPECT_EQ(looks_, 1) << "at the start; then nobody asked";
  Miss(0, 2);
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kWait);
  EXPECT_EQ(wakes_, 1);
  brake_.Look(kNow, kSteady);
  EXPECT_THAT(Again(), ElementsAre("n0", "n1"));
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kObey);
  EXPECT_EQ(brake_.Judge("u1"), Verdict::kObey);
  EXPECT_EQ(brake_.Judge("u2"), Verdict::kWait);
}

// Before that a condition that an earlier process showed would be taken for over.
TEST_F(BrakeTest, WhatIsHeldIsKnownFromTheFirstLookOnWhoeverAsks) {
  Miss(0, 3);
  EXPECT_FALSE(brake_.decided());
  history_.Leave();
  brake_.Look(kNow, kSteady);
  EXPECT_FALSE(brake_.decided()) << "a snapshot is under way";
  history_.Enter("a");
  brake_.Look(kNow, kSteady);
  EXPECT_TRUE(brake_.decided());
  EXPECT_TRUE(brake_.HeldAt("p").has_value());
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kKeep);
}

TEST_F(BrakeTest, MoreThanAFewAreHeldAndShown) {
  Miss(0, 3);
  (void)brake_.Judge("u0");
  brake_.Look(kNow, kSteady);
  EXPECT_THAT(Again(), IsEmpty());
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kKeep);
  EXPECT_EQ(brake_.Judge("u2"), Verdict::kKeep);
  EXPECT_THAT(Shown(), ElementsAre("p begins"));
  EXPECT_THAT(brake_.HeldAt("p").value_or(""),
              HasSubstr("musterctl allow removals organizations/beta/clusters/train --nodes=3."));
  EXPECT_FALSE(brake_.HeldAt("q").has_value());
  // They are known again, all but a few.
  Miss(0, 1);
  brake_.Look(kNow, kSteady);
  EXPECT_THAT(Shown(), ElementsAre("p is over"));
  EXPECT_FALSE(brake_.HeldAt("p").has_value());
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kObey);
}

TEST_F(BrakeTest, AnOrderIsForSoMany) {
  Miss(0, 4);
  Allow({0, 3});
  (void)brake_.Judge("u0");
  brake_.Look(kNow, kSteady);
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kKeep) << "one more than was allowed";
  Allow({0, 5});
  brake_.Look(kNow, kSteady);
  EXPECT_THAT(Again(), SizeIs(4));
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kObey);
  EXPECT_EQ(order_.allowed, (Removals{0, 1})) << "what is left of it";
  // These went; others are not covered by it any more, in this process or the next.
  Miss(4, 7);
  Brake next(MakeParts());
  for (Brake* brake : {&brake_, &next}) {
    (void)brake->Judge("u4");
    brake->Look(kNow, kSteady);
    EXPECT_EQ(brake->Judge("u4"), Verdict::kKeep);
  }
}

TEST_F(BrakeTest, NothingGoesByAnOrderThatCannotBeTakenOff) {
  Miss(0, 4);
  Allow({0, 4});
  for (const absl::Status& status :
       {absl::UnavailableError("Muster is away"), absl::FailedPreconditionError("it has ended")}) {
    Brake::Parts parts = MakeParts();
    parts.take = [&](const Brake::Order&, const Removals&) -> absl::StatusOr<Brake::Order> {
      return status;
    };
    Brake brake(std::move(parts));
    (void)brake.Judge("u0");
    brake.Look(kNow, kSteady);
    EXPECT_EQ(brake.Judge("u0"), Verdict::kKeep) << status;
  }
}

TEST_F(BrakeTest, AnOrderEnds) {
  Miss(0, 4);
  Allow({0, 4});
  (void)brake_.Judge("u0");
  brake_.Look(kNow + absl::Hours(1), kSteady);
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kKeep);
  orders_ = absl::UnavailableError("Muster is away");
  brake_.Look(kNow, kSteady);
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kKeep) << "no order is known";
}

TEST_F(BrakeTest, WhatIsAwayForLongIsToldOnceAMinute) {
  const testing::CountedLines lines("it could not be read which removals are allowed");
  orders_ = absl::UnavailableError("Muster is away");
  Miss(0, 4);
  (void)brake_.Judge("u0");
  for (int i = 0; i < 100; ++i) brake_.Look(kNow, kSteady);
  EXPECT_EQ(lines.count(), 1);
  brake_.Look(kNow, kSteady + absl::Minutes(1));
  EXPECT_EQ(lines.count(), 2);
}

TEST_F(BrakeTest, AnOrderThatCannotBeUsedIsToldOnceAMinute) {
  const testing::CountedLines lines("the order to let removals go could not be used");
  Miss(0, 4);
  Allow({0, 4});
  Brake::Parts parts = MakeParts();
  parts.take = [](const Brake::Order&, const Removals&) -> absl::StatusOr<Brake::Order> {
    return absl::FailedPreconditionError("it has ended");
  };
  Brake brake(std::move(parts));
  (void)brake.Judge("u0");
  for (int i = 0; i < 100; ++i) brake.Look(kNow, kSteady);
  EXPECT_EQ(lines.count(), 1);
  brake.Look(kNow, kSteady + absl::Minutes(1));
  EXPECT_EQ(lines.count(), 2);
}

TEST_F(BrakeTest, DropByDropIsNoFew) {
  for (int i = 0; i < 2; ++i) {
    Miss(i, i + 1);
    (void)brake_.Judge(absl::StrCat("u", i));
    brake_.Look(kNow, kSteady);
    EXPECT_EQ(brake_.Judge(absl::StrCat("u", i)), Verdict::kObey);
  }
  Miss(2, 3);
  (void)brake_.Judge("u2");
  // Whatever is done to the time of day.
  brake_.Look(kNow + absl::Hours(1), kSteady + absl::Minutes(9));
  EXPECT_EQ(brake_.Judge("u2"), Verdict::kKeep);
  brake_.Look(kNow - absl::Hours(1), kSteady + kBrakeWindow);
  EXPECT_EQ(brake_.Judge("u2"), Verdict::kObey) << "time went by";
}

TEST_F(BrakeTest, PoolsAndNodesTogetherNeedAnOrderForBoth) {
  Miss(0, 3);
  pending_.node_pools = {{.uid = "pu", .name = "p", .pool = "p", .pool_uid = "pu", .nodes = 3}};
  pending_.all_pools = {1, 3};
  (void)brake_.Judge("pu");
  brake_.Look(kNow, kSteady);
  EXPECT_EQ(brake_.Judge("pu"), Verdict::kKeep) << "a pool of more than a few Nodes";
  EXPECT_THAT(brake_.HeldAt("p").value_or(""), HasSubstr("--node-pools=1 --nodes=6."));
  Allow({1, 6});
  brake_.Look(kNow, kSteady);
  EXPECT_EQ(brake_.Judge("pu"), Verdict::kObey);
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kObey);
}

TEST_F(BrakeTest, TheHistoryHasTheFirstWord) {
  Miss(0, 1);
  (void)brake_.Judge("u0");
  brake_.Look(kNow, kSteady);
  history_.Leave();
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kWait);
  history_.Enter("b");
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kKeep);
}

TEST_F(BrakeTest, WhatIsHeldStaysSoWhileASnapshotIsTaken) {
  Miss(0, 3);
  (void)brake_.Judge("u0");
  brake_.Look(kNow, kSteady);
  const std::optional<std::string> held = brake_.HeldAt("p");
  ASSERT_TRUE(held.has_value());
  EXPECT_THAT(Shown(), ElementsAre("p begins"));
  history_.Leave();
  Miss(0, 0);  // nobody is judged to go
  brake_.Look(kNow, kSteady);
  EXPECT_EQ(brake_.HeldAt("p"), held);
  EXPECT_THAT(Shown(), IsEmpty());
  history_.Enter("a");
  Miss(0, 3);
  Allow({0, 5});
  brake_.Look(kNow, kSteady);
  EXPECT_THAT(Again(), ElementsAre("n0", "n1", "n2"));
}

TEST_F(BrakeTest, ASnapshotInTheMiddleOfALookDecidesNothing) {
  bool snapshot = false;
  Brake::Parts parts = MakeParts();
  parts.look = [&] {
    if (!std::exchange(snapshot, false)) return pending_;
    history_.Leave();
    history_.Enter("a");
    return Brake::PendingRemovals();
  };
  Brake brake(std::move(parts));
  Miss(0, 2);
  (void)brake.Judge("u0");
  snapshot = true;
  brake.Look(kNow, kSteady);
  EXPECT_EQ(brake.Judge("u0"), Verdict::kWait);
  brake.Look(kNow, kSteady);
  EXPECT_THAT(Again(), ElementsAre("n0", "n1"));
  snapshot = true;
  brake.Look(kNow, kSteady);
  EXPECT_EQ(brake.Judge("u0"), Verdict::kObey) << "it was let go";
}

TEST_F(BrakeTest, WhatIsKnownAgainIsNoLongerCleared) {
  Miss(0, 1);
  (void)brake_.Judge("u0");
  brake_.Look(kNow, kSteady);
  Miss(0, 0);
  brake_.Look(kNow, kSteady);
  EXPECT_EQ(brake_.Judge("u0"), Verdict::kWait);
}

}  // namespace
}  // namespace muster::kubernetes
