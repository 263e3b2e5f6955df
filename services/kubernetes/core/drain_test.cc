#include "services/kubernetes/core/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "services/kubernetes/core/testing/objects.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Class = PodObject::Class;

std::vector<PodObject> EveryKind() {
  std::vector<PodObject> pods = {
      MakePod("guarded", Class::kGuarded),   MakePod("fixed", Class::kFixed),
      MakePod("graceful", Class::kGraceful), MakePod("interruptable", Class::kInterruptable),
      MakePod("finished", Class::kGuarded),  MakePod("leaving", Class::kGuarded)};
  pods[4].finished = true;
  pods[5].deleting = true;
  return pods;
}

using EvictionModes = std::vector<std::pair<std::string, EvictionMode>>;

EvictionModes Evictions(const lifecycle::v1::Node& node, const std::vector<PodObject>& pods,
                        const absl::flat_hash_set<std::string>& asked = {}) {
  EvictionModes plan;
  for (const PodEviction& eviction : PlanDrain(node, pods, asked, absl::ZeroDuration()))
    plan.emplace_back(eviction.pod->name, eviction.mode);
  return plan;
}

EvictionModes Evictions(bool drain, bool force, const std::vector<PodObject>& pods,
                        const absl::flat_hash_set<std::string>& asked = {}) {
  lifecycle::v1::Node node;
  node.mutable_desired()->set_drain(drain);
  node.mutable_desired()->set_force_drain(force);
  return Evictions(node, pods, asked);
}

// Preempted at Then(), drained since so many seconds later, with seven minutes in all.
lifecycle::v1::Node Preempted(int64_t drained_after) {
  lifecycle::v1::Node node;
  *node.mutable_preempt_time() = Stamp(kThen);
  node.mutable_desired()->set_drain(true);
  *node.mutable_desired()->mutable_drain_time() = Stamp(kThen + drained_after);
  *node.mutable_desired()->mutable_drain_deadline() = Stamp(kThen + 420);
  return node;
}

// Of a preemption's drain, which takes five minutes, after so much of it.
int64_t GraceAfter(absl::Duration drained) {
  const std::vector<PodObject> pods = {MakePod("a", Class::kGuarded)};
  return PlanDrain(Preempted(120), pods, {}, drained).at(0).grace_seconds;
}

// "Pods labelled interruptable go first and at once; Pods labelled graceful-interruptible are
// deleted with their own grace period; all others through the Eviction API"
TEST(PlanDrain, GoesByClass) {
  EXPECT_THAT(Evictions(true, false, EveryKind()),
              ElementsAre(Pair("interruptable", EvictionMode::kAtOnce),
                          Pair("graceful", EvictionMode::kGraceful),
                          Pair("guarded", EvictionMode::kEvict)));
}

TEST(PlanDrain, AsksNobodyUnlessTheNodeIsToBeDrained) {
  EXPECT_THAT(Evictions(false, false, EveryKind()), IsEmpty());
  EXPECT_THAT(Evictions(false, true, EveryKind()), IsEmpty());
}

TEST(PlanDrain, AsksNobodyTwice) {
  EXPECT_THAT(Evictions(true, false, EveryKind(), {"uid-of-interruptable", "uid-of-guarded"}),
              ElementsAre(Pair("graceful", EvictionMode::kGraceful)));
}

TEST(PlanDrain, AsksAnotherPodOfTheSameName) {
  std::vector<PodObject> pods = {MakePod("db-0", Class::kGuarded)};
  pods[0].uid = "second";
  EXPECT_THAT(Evictions(true, false, pods, {"first"}),
              ElementsAre(Pair("db-0", EvictionMode::kEvict)));
}

// "Past the drain's deadline the rest is deleted"
TEST(PlanDrain, ForcesWhateverIsLeft) {
  EXPECT_THAT(
      Evictions(true, true, EveryKind(), {"uid-of-graceful", "uid-of-guarded"}),
      ElementsAre(Pair("guarded", EvictionMode::kForce), Pair("graceful", EvictionMode::kForce),
                  Pair("interruptable", EvictionMode::kForce),
                  Pair("leaving", EvictionMode::kForce)));
}

// "Preemption: at T+2 every Pod that is no DaemonSet's gets its SIGTERM by deletion with the grace
// that is left until T+7, disruption budgets or not: the machine leaves anyway."
TEST(PlanDrain, ForAPreemptionEveryPodIsDeletedInTime) {
  EXPECT_THAT(
      Evictions(Preempted(120), EveryKind(), {"uid-of-finished"}),
      ElementsAre(Pair("guarded", EvictionMode::kInTime), Pair("graceful", EvictionMode::kInTime),
                  Pair("interruptable", EvictionMode::kInTime)));
  EXPECT_THAT(Evictions(Preempted(120), EveryKind(), {"uid-of-graceful", "uid-of-guarded"}),
              ElementsAre(Pair("interruptable", EvictionMode::kInTime)));
}

TEST(PlanDrain, ADrainFromBeforeTheNoticeGoesOnAsItBegan) {
  for (const int64_t before : {-60, 0}) {
    EXPECT_THAT(Evictions(Preempted(before), EveryKind()),
                ElementsAre(Pair("interruptable", EvictionMode::kAtOnce),
                            Pair("graceful", EvictionMode::kGraceful),
                            Pair("guarded", EvictionMode::kEvict)));
  }
}

TEST(PlanDrain, TheGraceOfAPreemptionIsWhatIsLeft) {
  EXPECT_EQ(GraceAfter(absl::ZeroDuration()), 300);
  EXPECT_EQ(GraceAfter(absl::Milliseconds(1)), 299) << "never past the deadline";
  EXPECT_EQ(GraceAfter(absl::Seconds(180)), 120);
  EXPECT_EQ(GraceAfter(absl::Seconds(299)), 1);
  EXPECT_EQ(GraceAfter(absl::Seconds(380)), 1) << "0 would be by force";
}

TEST(DrainTimer, ADrainThatBeginsBeforeOurEyesGoesByTheSteadyClock) {
  constexpr absl::Duration kSteady = absl::Hours(7);
  for (const absl::Duration ahead :
       {absl::ZeroDuration(), absl::Minutes(1), absl::Hours(1), -absl::Hours(1)}) {
    DrainTimer timer;
    timer.Look(lifecycle::v1::Node(), Then() + ahead, kSteady);
    timer.Look(Preempted(120), Then() + ahead + absl::Seconds(120), kSteady + absl::Seconds(120));
    EXPECT_EQ(GraceAfter(timer.Since(kSteady + absl::Seconds(120))), 300) << ahead;
    timer.Look(Preempted(120), Then() + absl::Hours(9), kSteady + absl::Seconds(150));
    EXPECT_EQ(GraceAfter(timer.Since(kSteady + absl::Seconds(150))), 270) << ahead;
  }
}

// As it is after a restart.
TEST(DrainTimer, OneThatWasThereAtTheFirstLookGoesByTheTimeOfDayUntilThen) {
  constexpr absl::Duration kSteady = absl::Hours(7);
  DrainTimer timer;
  timer.Look(Preempted(120), Then() + absl::Seconds(300), kSteady);
  EXPECT_EQ(timer.Since(kSteady), absl::Seconds(180));
  timer.Look(Preempted(120), Then() - absl::Hours(1), kSteady + absl::Seconds(10));
  EXPECT_EQ(timer.Since(kSteady + absl::Seconds(10)), absl::Seconds(190));
  DrainTimer behind;
  behind.Look(Preempted(120), Then() - absl::Hours(1), kSteady);
  EXPECT_EQ(behind.Since(kSteady), absl::ZeroDuration()) << "never more than the drain takes";
}

TEST(DrainTimer, AnotherDrainBeginsAnew) {
  constexpr absl::Duration kSteady = absl::Hours(7);
  DrainTimer timer;
  timer.Look(Preempted(-60), Then(), kSteady);
  timer.Look(Preempted(120), Then(), kSteady + absl::Seconds(120));
  EXPECT_EQ(timer.Since(kSteady + absl::Seconds(125)), absl::Seconds(5));
}

TEST(PlanDrain, KeepsTheOrderWithinAClass) {
  const std::vector<PodObject> pods = {MakePod("b", Class::kGuarded),
                                       MakePod("x", Class::kInterruptable),
                                       MakePod("a", Class::kGuarded)};
  EXPECT_THAT(Evictions(true, false, pods),
              ElementsAre(Pair("x", EvictionMode::kAtOnce), Pair("b", EvictionMode::kEvict),
                          Pair("a", EvictionMode::kEvict)));
}

// Of those Pods, in which order, at an hour by the steady clock.
std::vector<std::string> AskedAtOne(const std::vector<PodObject>& pods,
                                    const EvictionRetries& retries) {
  lifecycle::v1::Node node;
  node.mutable_desired()->set_drain(true);
  std::vector<std::string> names;
  const std::vector<PodEviction> plan = PlanDrain(node, pods, {}, absl::ZeroDuration());
  for (const PodEviction& eviction : PlanTurn(plan, retries, absl::Hours(1)).due)
    names.push_back(eviction.pod->name);
  return names;
}

EvictionRetry RetryAt(absl::Duration after_one, EvictionMode mode = EvictionMode::kEvict) {
  return {.mode = mode, .time = absl::Hours(1) + after_one};
}

TEST(PlanTurn, AsksWhoeverIsDue) {
  const std::vector<PodObject> pods = {MakePod("a", Class::kGuarded), MakePod("b", Class::kGuarded),
                                       MakePod("c", Class::kGuarded)};
  EXPECT_THAT(AskedAtOne(pods, {}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(AskedAtOne(pods, {{"uid-of-a", RetryAt(absl::Seconds(1))},
                                {"uid-of-b", RetryAt(absl::ZeroDuration())}}),
              ElementsAre("c", "b"));
}

TEST(PlanTurn, WhatWasRefusedInOneWayIsAskedInAnother) {
  const std::vector<PodObject> pods = {MakePod("a", Class::kGraceful)};
  EXPECT_THAT(AskedAtOne(pods, {{"uid-of-a", RetryAt(absl::Seconds(1))}}), ElementsAre("a"));
  EXPECT_THAT(AskedAtOne(pods, {{"uid-of-a", RetryAt(absl::Seconds(1), EvictionMode::kGraceful)}}),
              IsEmpty());
}

// Each of the first may take up the whole turn, and be due again at its end.
TEST(PlanTurn, LeavesNobodyOut) {
  const std::vector<PodObject> pods = {
      MakePod("a", Class::kInterruptable), MakePod("b", Class::kInterruptable),
      MakePod("c", Class::kGuarded), MakePod("d", Class::kGuarded)};
  EXPECT_THAT(AskedAtOne(pods, {{"uid-of-a", RetryAt(-absl::Seconds(1), EvictionMode::kAtOnce)},
                                {"uid-of-b", RetryAt(-absl::Seconds(3), EvictionMode::kAtOnce)},
                                {"uid-of-c", RetryAt(-absl::Seconds(2))}}),
              ElementsAre("d", "b", "c", "a"));
}

TEST(PlanTurn, TellsWhenTheNextIsDue) {
  lifecycle::v1::Node node;
  node.mutable_desired()->set_drain(true);
  const std::vector<PodObject> pods = {MakePod("a", Class::kGuarded),
                                       MakePod("b", Class::kGuarded)};
  const std::vector<PodEviction> plan = PlanDrain(node, pods, {}, absl::ZeroDuration());
  EXPECT_EQ(PlanTurn(plan, {}, absl::Hours(1)).next, absl::InfiniteDuration());
  EXPECT_EQ(
      PlanTurn(plan,
               {{"uid-of-a", RetryAt(absl::Seconds(7))}, {"uid-of-b", RetryAt(absl::Seconds(5))}},
               absl::Hours(1))
          .next,
      absl::Hours(1) + absl::Seconds(5));
}

TEST(IsTurnOver, OnceItsTimeIsUp) {
  EXPECT_FALSE(IsTurnOver(absl::ZeroDuration()));
  EXPECT_FALSE(IsTurnOver(kDrainTurn - absl::Nanoseconds(1)));
  EXPECT_TRUE(IsTurnOver(kDrainTurn));
  EXPECT_TRUE(IsTurnOver(absl::Minutes(1)));
}

TEST(EvictionBody, HoldsForThisPodOnly) {
  const PodObject pod = MakePod("a", Class::kGuarded);
  Json options = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", "uid-of-a"}}}};
  EXPECT_EQ(EvictionBody({EvictionMode::kGraceful, &pod}), options) << "its own grace period";
  EXPECT_EQ(EvictionBody({EvictionMode::kEvict, &pod}),
            Json({{"apiVersion", "policy/v1"},
                  {"kind", "Eviction"},
                  {"metadata", {{"name", "a"}, {"namespace", "team"}}},
                  {"deleteOptions", options}}));
  options["gracePeriodSeconds"] = 1;
  EXPECT_EQ(EvictionBody({EvictionMode::kAtOnce, &pod}), options);
  options["gracePeriodSeconds"] = 0;
  EXPECT_EQ(EvictionBody({EvictionMode::kForce, &pod}), options);
  options["gracePeriodSeconds"] = 297;
  EXPECT_EQ(EvictionBody({EvictionMode::kInTime, &pod, 297}), options);
}

// "all others through the Eviction API, so that disruption budgets hold": only the end of a Node
// that is preempted is beyond them.
TEST(PlanDrain, ADrainOfNoPreemptionKeepsToBudgets) {
  lifecycle::v1::Node node = Preempted(120);
  node.clear_preempt_time();
  EXPECT_THAT(Evictions(node, EveryKind()),
              ElementsAre(Pair("interruptable", EvictionMode::kAtOnce),
                          Pair("graceful", EvictionMode::kGraceful),
                          Pair("guarded", EvictionMode::kEvict)));
}

}  // namespace
}  // namespace muster::kubernetes
