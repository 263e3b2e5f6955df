// kstatus: "Reconciling: ... the controller is in the process of reconciling the resource",
// "Stalled: ... the controller has encountered an error or it made insufficient progress", Ready:
// "the resource has been reconciled".
#include "services/lifecycle/core/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;

// As `Ready False NotObserved`.
std::vector<std::string> SummaryOf(const Simulation& sim) {
  std::vector<std::string> told;
  for (const Condition& condition : sim.pool()->status.summary) {
    told.push_back(absl::StrCat(condition.type.get(), " ", condition.status.get(), " ",
                                condition.reason.get()));
    EXPECT_EQ(condition.observed_generation, sim.pool()->generation);
  }
  return told;
}

TEST(Summary, ANewPoolIsNotReadyInTheVeryChangeThatMakesIt) {
  Simulation sim;
  sim.Create(2);
  EXPECT_THAT(SummaryOf(sim),
              ElementsAre("Ready False NotObserved", "Reconciling True NotObserved"));
}

TEST(Summary, ReadyMeansThatTheNodesTakeWork) {
  Simulation sim;
  sim.Create(2);
  for (int i = 0; i < 50 && sim.Reason("AtTarget") != "TargetMet"; ++i) {
    if (!(sim.Pass() | sim.Agents())) break;
  }
  ASSERT_EQ(sim.Reason("AtTarget"), "TargetMet") << "registered, and no more";
  EXPECT_THAT(SummaryOf(sim),
              ElementsAre("Ready False NodesNotInService", "Reconciling True NodesNotInService"));
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(SummaryOf(sim), ElementsAre("Ready True Ready"));
  EXPECT_EQ(sim.pool()->status.summary[0].message, "All of 2 Nodes in service.");
}

TEST(Summary, AChangeOfTheSpecTakesReadyAwayAtOnce) {
  Running sim(2);
  sim.Resize(3);
  EXPECT_THAT(SummaryOf(sim),
              ElementsAre("Ready False NotObserved", "Reconciling True NotObserved"));
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(SummaryOf(sim), ElementsAre("Ready True Ready"));
  sim.Apply([](Spec& spec) { spec.description = "for Mondays"; });
  EXPECT_THAT(SummaryOf(sim),
              ElementsAre("Ready False NotObserved", "Reconciling True NotObserved"));
  ASSERT_TRUE(sim.Converge());
  sim.Delete();
  EXPECT_THAT(SummaryOf(sim),
              ElementsAre("Ready False PendingDelete", "Reconciling True PendingDelete"));
}

TEST(Summary, OverQuotaStallsUntilItIsRaised) {
  Simulation sim;
  sim.limit = 1;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(SummaryOf(sim), ElementsAre("Ready False Over", "Stalled True Over"));
  EXPECT_EQ(sim.pool()->status.summary[0].message,
            FindCondition(sim.pool()->status.conditions, "Quota")->message);
  sim.limit = 2;
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(SummaryOf(sim), ElementsAre("Ready True Ready"));
}

TEST(Summary, AnInvalidPoolStalls) {
  Running sim(1);
  sim.catalogue.type.reset();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(SummaryOf(sim), ElementsAre("Ready False Invalid", "Stalled True Invalid"));
}

TEST(Summary, WhatTimeWillNotMendIsToldFirst) {
  Simulation sim;
  sim.Create(2);
  Status status = sim.pool()->status;
  status.conditions = {{.type = "Validated", .status = "True", .reason = "Valid"},
                       {.type = "Capacity", .status = "False", .reason = "Partial"},
                       {.type = "Quota", .status = "False", .reason = "Over"}};
  Summarize(*sim.pool(), status, 0, sim.now());
  EXPECT_EQ(status.summary.at(1).type, "Stalled");
  EXPECT_EQ(status.summary.at(1).reason, "Over");
  status.conditions[2] = {.type = "Quota", .status = "True", .reason = "Under"};
  Summarize(*sim.pool(), status, 0, sim.now());
  EXPECT_EQ(status.summary.at(1).type, "Reconciling");
  EXPECT_EQ(status.summary.at(1).reason, "Partial");
}

TEST(Summary, WhatIsNotKnownIsUnknownAndPasses) {
  Running sim(1);
  sim.quota_away = true;
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(SummaryOf(sim),
              ElementsAre("Ready Unknown InternalError", "Reconciling True InternalError"));
}

TEST(Summary, TheTimeIsThatOfTheTurn) {
  Running sim(1);
  const absl::Time since = sim.pool()->status.summary[0].last_transition_time;
  sim.Advance(absl::Hours(1));
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->status.summary[0].last_transition_time, since);
  sim.Resize(0);
  EXPECT_GE(sim.pool()->status.summary[0].last_transition_time, since + absl::Hours(1));
}

}  // namespace
}  // namespace muster::lifecycle
