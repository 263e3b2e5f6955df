// Nodes whose health goes to and fro.
#include "services/lifecycle/core/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/told.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using O = ReportNode::Observation;

// So long ill, so long well again, over and over.
void Flap(Simulation& sim, int times, absl::Duration ill, absl::Duration well) {
  for (int i = 0; i < times && sim.node("g100") != nullptr; ++i) {
    (void)sim.Report("g100", O::kUnhealthy, "Xid 79");
    sim.Drive();
    sim.Advance(ill);
    sim.Drive();
    (void)sim.Report("g100", O::kRecovered);
    sim.Drive();
    sim.Advance(well);
    sim.Drive();
  }
}

// A Node that is ill and well as told, second by second.
struct HealthSeen {
  Observed observed = {};
  void Ill(int64_t at) { SeeHealth(observed, true, "Xid 79", absl::FromUnixSeconds(at)); }
  void Well(int64_t at) { SeeHealth(observed, false, "well", absl::FromUnixSeconds(at)); }
  // Since when it is ill, without its healthy times.
  int64_t since() const { return absl::ToUnixSeconds(observed.unhealthy_time); }
};
const int64_t kWindow = absl::ToInt64Seconds(kHealthWindow);

TEST(Health, WithinTheWindowHealthyTimesDoNotCount) {
  HealthSeen seen;
  seen.Ill(0);
  seen.Well(10);
  seen.Well(20);  // said again
  EXPECT_EQ(seen.observed.healthy_time, absl::FromUnixSeconds(10));
  EXPECT_EQ(seen.observed.health_message.get(), "");
  seen.Ill(kWindow - 1);
  seen.Ill(kWindow + 5);  // said again
  EXPECT_EQ(seen.observed.relapses, 1);
  EXPECT_EQ(seen.since(), kWindow - 1 - 10);
  EXPECT_EQ(seen.observed.healthy_time, kNever);
}

TEST(Health, PastTheWindowItIsAgainUnlessItWasWellForLongerThanIll) {
  const auto relapses = [](int64_t ill, int64_t well) {
    HealthSeen seen;
    seen.Ill(0);
    seen.Well(ill);
    seen.Ill(ill + well);
    return seen.observed.relapses;
  };
  EXPECT_EQ(relapses(10, kWindow - 11), 1) << "within the window";
  EXPECT_EQ(relapses(10, kWindow - 10), 0) << "the window is over";
  EXPECT_EQ(relapses(kWindow - 60, 60), 1) << "over, but it was ill for longer than well";
  EXPECT_EQ(relapses(kWindow / 2, kWindow / 2), 1) << "as long";
  EXPECT_EQ(relapses(kWindow / 2, kWindow / 2 + 1), 0) << "longer";
  EXPECT_EQ(relapses(9 * kWindow, kWindow - 1), 1);
  EXPECT_EQ(relapses(9 * kWindow, kWindow), 0) << "well for a whole window";
}

TEST(Health, WhatIsForgottenCountsAnew) {
  HealthSeen seen;
  seen.Ill(0);
  seen.Well(1);
  seen.Ill(2);
  seen.Well(3);
  ASSERT_EQ(seen.observed.relapses, 1);
  seen.Ill(2 * kWindow);
  EXPECT_EQ(seen.observed.relapses, 0);
  EXPECT_EQ(seen.since(), 2 * kWindow);
  seen.Well(2 * kWindow + 1);
  seen.Ill(2 * kWindow + 2);
  ASSERT_EQ(seen.observed.relapses, 1);
  ForgetHealth(seen.observed);
  EXPECT_EQ(seen.observed, Observed{});
}

// "Flapping faster than the grace is never replaced: unhealthy time adds up over a window".
TEST(Flapping, UnhealthyTimesAddUp) {
  Telling sim(2);
  const absl::Duration half = sim.policy.triage_grace / 2;
  Flap(sim, 2, half - absl::Seconds(1), absl::Minutes(1));
  EXPECT_THAT(sim.broken(), IsEmpty());
  Flap(sim, 1, absl::Seconds(5), absl::Minutes(1));
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g102"));
}

// Illnesses that lie far apart have nothing to do with each other.
TEST(Flapping, OverTheWindowTheyAreForgotten) {
  Telling sim(2);
  Flap(sim, 6, sim.policy.triage_grace / 2, kHealthWindow);
  EXPECT_THAT(sim.broken(), IsEmpty());
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
}

// However long it may be unhealthy: one that is hardly ever healthy does not get a new start every
// window.
TEST(Flapping, UnhealthyTimesAddUpToAGraceAboveTheWindow) {
  Telling sim(2);
  sim.policy.triage_grace = kHealthWindow * 3 / 2;
  Flap(sim, 10, kHealthWindow * 2 / 3, absl::Minutes(1));
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
}

// "changes of health are damped (50 flaps made 500 revisions)": one that is seen is a row of the
// Node, and little else.
TEST(Flapping, ChangesOfHealthAreDamped) {
  Telling sim(2);
  sim.policy.triage_grace = absl::Hours(1);
  sim.StopClock();
  const int64_t before = sim.revision();
  Flap(sim, 50, absl::Seconds(1), absl::Seconds(1));
  EXPECT_LE(sim.revision() - before, 2 * 50 + 40);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_LE(sim.NodeSays("CWNodeUnhealthy").size(), 2u);
  EXPECT_LE(sim.NodeSays("CWNodeCordoned").size(), 2u);
}

// After a relapse it shows first that it stays healthy, and explain says until when.
TEST(Flapping, ARelapseIsBackOnlyOnceItStaysHealthy) {
  Telling sim(2);
  Flap(sim, 1, absl::Seconds(5), absl::Seconds(5));
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction) << "one is none";
  Flap(sim, 1, absl::Seconds(5), absl::ZeroDuration());
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_THAT(sim.Obstacles(), ElementsAre("WAITS_FOR_RECOVERY"));
  EXPECT_EQ(sim.last_plan.due, sim.node("g100")->observed.healthy_time + sim.policy.triage_grace);
  sim.Advance(sim.policy.triage_grace - absl::Seconds(1));
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  sim.Advance(absl::Seconds(1));
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_THAT(sim.Obstacles(), IsEmpty());
  EXPECT_THAT(sim.machines(), SizeIs(2));
}

}  // namespace
}  // namespace muster::lifecycle
