#include "services/kubernetes/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/counted_lines.h"
#include "tests/testing/metric_value.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Verdict = History::Verdict;

class HistoryTest : public ::testing::Test {
 protected:
  History::Parts MakeParts() {
    return {.metrics = &metrics_,
            .read = [this]() -> absl::StatusOr<std::string> {
              if (!store_.ok()) return store_;
              return accepted_;
            },
            .write =
                [this](const std::string& incarnation) {
                  if (store_.ok()) accepted_ = incarnation;
                  return store_;
                },
            .look = [this] { return unknown_; },
            .show =
                [this](const std::string& node, const std::string& incarnation) {
                  shown_.push_back(node + "@" + incarnation);
                },
            .again =
                [this](const History::Unknown& unknown) {
                  again_.insert(again_.end(), unknown.nodes.begin(), unknown.nodes.end());
                },
            .steady = &steady_};
  }
  std::vector<std::string> Shown() { return std::exchange(shown_, {}); }
  // What the alert goes by.
  double UnknownShown() { return testing::MetricSum(registry_, "muster_kubernetes_unknown"); }

  prometheus::Registry registry_;
  Metrics metrics_{registry_, "api"};
  FakeSteadyClock steady_;
  absl::Status store_;
  std::string accepted_;  // outside of the process
  History::Unknown unknown_;
  std::vector<std::string> shown_;
  std::vector<std::string> again_;
  History history_{MakeParts()};
};

TEST_F(HistoryTest, IsAcceptedByItselfOnceItKnowsAll) {
  EXPECT_EQ(history_.Judge("u"), Verdict::kWait);
  history_.Enter("a");
  EXPECT_EQ(history_.Judge("u"), Verdict::kKeep) << "nobody has looked yet";
  unknown_.nodes = {"n1"};
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kKeep);
  EXPECT_EQ(accepted_, "");
  unknown_ = {};
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kObey);
  EXPECT_EQ(accepted_, "a");
}

TEST_F(HistoryTest, AStoreThatIsAwayForLongIsToldOnceAMinute) {
  const testing::CountedLines lines("it could not be read which history is accepted");
  history_.Enter("a");
  store_ = absl::UnavailableError("the API server is away");
  for (int i = 0; i < 100; ++i) history_.Look();
  EXPECT_EQ(lines.count(), 1);
  steady_.Advance(absl::Minutes(1));
  history_.Look();
  EXPECT_EQ(lines.count(), 2);
}

TEST_F(HistoryTest, APoolWithoutItsObjectStandsAgainstItToo) {
  unknown_.node_pools = {"p"};
  history_.Enter("a");
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kKeep);
}

TEST_F(HistoryTest, AnotherOneIsNotAcceptedWhateverTheFormerWas) {
  history_.Enter("a");
  history_.Look();
  history_.Leave();
  EXPECT_EQ(history_.Judge("u"), Verdict::kWait) << "a snapshot is under way";
  unknown_.nodes = {"n1"};
  history_.Enter("b");
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kKeep);
  // Back in the first, e.g. by a later backup.
  history_.Leave();
  history_.Enter("a");
  EXPECT_EQ(history_.Judge("u"), Verdict::kObey);
}

TEST_F(HistoryTest, WhatAnotherOneDidNotKnowIsShownNoLongerOnceItIsLeft) {
  history_.Enter("a");
  history_.Look();
  unknown_.nodes = {"n1"};
  history_.Enter("b");
  history_.Look();
  EXPECT_EQ(UnknownShown(), 1);
  EXPECT_THAT(Shown(), ElementsAre("n1@b"));
  history_.Enter("a");
  history_.Look();
  EXPECT_EQ(UnknownShown(), 0);
  EXPECT_THAT(again_, ElementsAre("n1"));
  // There again, it is another matter.
  history_.Enter("b");
  history_.Look();
  EXPECT_EQ(UnknownShown(), 1);
  EXPECT_THAT(Shown(), ElementsAre("n1@b"));
}

TEST_F(HistoryTest, APersonsWordCountsForTheHistoryThatItNames) {
  unknown_.nodes = {"n1"};
  history_.Enter("b");
  accepted_ = "a";
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kKeep);
  accepted_ = "b";
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kObey);
  EXPECT_THAT(again_, ElementsAre("n1"));
}

TEST_F(HistoryTest, WhatBothSidesKnewInItMayGo) {
  unknown_.nodes = {"n1"};
  history_.Enter("a");
  history_.See("a", "u1");
  history_.See("z", "u2");
  history_.See(std::nullopt, "u3");
  EXPECT_EQ(history_.Judge("u1"), Verdict::kObey);
  EXPECT_EQ(history_.Judge("u2"), Verdict::kKeep);
  EXPECT_EQ(history_.Judge("u3"), Verdict::kKeep);
  // The same one again, by another stream.
  history_.Leave();
  history_.See("a", "u4");
  history_.Enter("a");
  EXPECT_EQ(history_.Judge("u1"), Verdict::kObey);
  EXPECT_EQ(history_.Judge("u4"), Verdict::kKeep);
  history_.Leave();
  history_.Enter("b");
  EXPECT_EQ(history_.Judge("u1"), Verdict::kKeep);
}

TEST_F(HistoryTest, IsNotAcceptedWhileThatCannotBeKept) {
  store_ = absl::UnavailableError("the API server is away");
  history_.Enter("a");
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kKeep);
  store_ = absl::OkStatus();
  history_.Look();
  EXPECT_EQ(history_.Judge("u"), Verdict::kObey);
}

TEST_F(HistoryTest, ShowsEachNodeOnceAHistory) {
  unknown_.nodes = {"n1"};
  history_.Enter("a");
  history_.Look();
  EXPECT_THAT(Shown(), ElementsAre("n1@a"));
  unknown_.nodes = {"n1", "n2"};
  history_.Look();
  EXPECT_THAT(Shown(), ElementsAre("n2@a"));
  history_.Look();
  EXPECT_THAT(Shown(), IsEmpty());
  history_.Enter("b");
  history_.Look();
  EXPECT_THAT(Shown(), ElementsAre("n1@b", "n2@b"));
}

}  // namespace
}  // namespace muster::kubernetes
