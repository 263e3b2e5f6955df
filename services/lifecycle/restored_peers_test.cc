// A service that was restored, or may have been, is told of all pools before any of them grows.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/lifecycle/testing/leadership_test_base.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::IsOk;

// "A history has a name": what a restored service has lost is in no snapshot of its watch.
TEST_F(SteadyLead, AServiceThatWasRestoredIsAskedAnewForEveryPool) {
  RunWithA({"p0", "p1", "p2"});
  const auto all_are_planned_after = [&](auto& service) {
    const double before = QuietPlans(*a_);
    service.Restore();
    Until([&] { return Metric(*a_, "muster_lifecycle_plans_total") >= before + 3; });
  };
  all_are_planned_after(peers_.quota);
  all_are_planned_after(peers_.capacity);
  all_are_planned_after(peers_.configuration);
}

// "the pools that it was of are to ask for it anew before others take its place": also where the
// first by name wants more.
TEST_F(SteadyLead, ARestoredQuotaHearsOfWhatThereWasBeforeAnybodyGrows) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("runs", 2);
  Until([&] { return NodesOf(*a_, pool) == 2; });
  Apply("a-wants-more", 12);
  const auto asks_for = [&](int64_t nodes) {
    const auto asked = peers_.quota.asked();
    return absl::c_find_if(asked, [&](const auto& ask) { return ask.nodes() == nodes; }) -
           asked.begin();
  };
  const auto is_asked = [&](int64_t nodes) {
    return asks_for(nodes) < std::ssize(peers_.quota.asked());
  };
  Until([&] { return is_asked(12); }, "a pool that is over quota");
  (void)QuietPlans(*a_);
  peers_.quota.Restore();
  Until([&] { return is_asked(12) && is_asked(2); }, "both pools' requests");
  EXPECT_LT(asks_for(2), asks_for(12));
  // Whoever takes over cannot know what quota has lost.
  (void)QuietPlans(*a_);
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  peers_.quota.Restore();
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  Until([&] { return is_asked(12) && is_asked(2); }, "both pools' requests");
  EXPECT_LT(asks_for(2), asks_for(12));
}

// Quota falls silent while it hears of one pool after another, and is back for whoever asks next.
TEST_F(SteadyLead, NobodyGrowsBeforeQuotaHasHeardOfAllPools) {
  RunWithA({"runs", "runs-too"});
  (void)QuietPlans(*a_);
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  Apply("a-wants-more", 8);
  peers_.quota.Restore();
  const grpc::Status too_large(grpc::StatusCode::RESOURCE_EXHAUSTED, "too large a message");
  // Both that run; they again, as half of all; the first; the second.
  peers_.quota.SetNextRefusals(
      {too_large, too_large, grpc::Status::OK, {grpc::StatusCode::UNAVAILABLE, "away"}});
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  const auto heard_of = [&](absl::string_view pool) {
    const auto decided = peers_.quota.decided();
    return absl::c_find_if(decided,
                           [&](const auto& ask) {
                             return absl::EndsWith(ask.name(),
                                                   absl::StrCat("/holdings/uid-", pool)) &&
                                    ask.nodes() > 0;
                           }) -
           decided.begin();
  };
  Until([&] { return heard_of("a-wants-more") < std::ssize(peers_.quota.decided()); },
        "the new pool's request");
  EXPECT_LT(heard_of("runs"), heard_of("a-wants-more"));
  EXPECT_LT(heard_of("runs-too"), heard_of("a-wants-more"));
}

// One pool that it cannot be told of leaves the others theirs.
TEST_F(SteadyLead, APoolThatQuotaFailsAtHoldsUpNoOther) {
  RunWithA({"runs", "runs-too"});
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  peers_.quota.Restore();
  peers_.quota.SetPoison("/holdings/uid-runs");
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  Until([&] { return !peers_.quota.decided().empty(); }, "the other is told of");
  const std::string more = Apply("wants-more", 3);
  Until([&] { return NodesOf(*b_, more) == 3; });
}

// While quota has not heard of all, it is asked what asks for no more: what it says of a pool that
// stays as it is is known.
TEST_F(SteadyLead, WhoStaysAsItIsIsNotHeldBackWithWhoGrows) {
  RunWithA({"runs"});
  peers_.quota.SetLimit(kQuota, 100);
  for (int i = 0; i < 11; ++i) {  // more than the others may go on without
    const std::string pool = Apply(absl::StrCat(i, "-bad"), 1);
    Until([&] { return NodesOf(*a_, pool) == 1; });
  }
  (void)QuietPlans(*a_);
  peers_.quota.SetPoison("-bad");
  peers_.quota.DropWatches();
  const std::string more = Apply("wants-more", 3);
  const auto quota = [&](const std::string& pool) {
    return b_->lane().Peek([&](const State& state, int64_t) {
      return std::string(ReasonOf(state.table<Pool>().Find(pool)->status.conditions, "Quota"));
    });
  };
  Until([&] { return quota(more) == "InternalError"; }, "word that it is held back");
  const auto decided_of = [&](absl::string_view holding) {
    return absl::c_count_if(peers_.quota.decided(), [&](const auto& ask) {
      return !ask.at_least() && ask.nodes() > 0 && absl::EndsWith(ask.name(), holding);
    });
  };
  const auto before = decided_of("/holdings/uid-runs");
  Until(
      [&] {
        peers_.capacity.Touch("uid-wants-more");
        peers_.capacity.Touch("uid-runs");
        return decided_of("/holdings/uid-runs") >= before + 3;
      },
      "quota to be asked of who stays as it is");
  EXPECT_EQ(decided_of("/holdings/uid-wants-more"), 0);
  EXPECT_EQ(NodesOf(*b_, more), 0);
  peers_.quota.SetPoison("");
  Until([&] { return NodesOf(*b_, more) == 3; });
}

// Each attempt to watch quota could be the first that reaches a restored one. A pool that is not
// the first tells what is restated from what only probes.
TEST_F(SteadyLead, WhileQuotaIsAwayItIsNotToldAnewAtEveryAttemptToWatchIt) {
  constexpr int kAttempts = 20;
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  for (const char* id : {"a", "b"}) {
    const std::string pool = Apply(id, 2);
    Until([&] { return NodesOf(*a_, pool) == 2; });
  }
  (void)QuietPlans(*a_);
  const auto restated = [&] {
    return absl::c_count_if(peers_.quota.asked(), [](const auto& ask) {
      return ask.at_least() && absl::EndsWith(ask.name(), "/holdings/uid-b");
    });
  };
  const auto before = restated();
  peers_.quota.SetAway(true);
  peers_.quota.SetWatchesAway(true);
  Until([&] { return peers_.quota.refused_watches() >= kAttempts; }, "attempts to watch quota");
  EXPECT_LT(restated() - before, kAttempts);
  peers_.quota.SetAway(false);
  peers_.quota.SetWatchesAway(false);
}

// Quota may know of more than the rows do, as of a grant whose answer was lost.
TEST_F(SteadyLead, WhatIsRestatedLowersNothing) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("runs", 2);
  Until([&] { return NodesOf(*a_, pool) == 2; });
  (void)QuietPlans(*a_);
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  peers_.quota.Restore();
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  // What the pool wants by now is asked for after it, as ever.
  std::vector<quota::v1::HoldingRequest> asked;
  const auto wants = [&] {
    asked = peers_.quota.asked();
    return !asked.empty() && !asked.back().at_least();
  };
  Until(wants, "the pool's own request");
  EXPECT_TRUE(asked.front().at_least());
  EXPECT_EQ(asked.front().nodes(), 2);
  EXPECT_LT(asked.front().generation(), asked.back().generation());
}

}  // namespace
}  // namespace muster::lifecycle
