#include "services/kubernetes/core/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "services/kubernetes/core/test_objects.h"

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

std::vector<std::pair<std::string, Parting>> Plan(
    bool drain, bool force, const std::vector<PodObject>& pods,
    const absl::flat_hash_set<std::string>& asked = {}) {
  lifecycle::v1::NodeDesired desired;
  desired.set_drain(drain);
  desired.set_force_drain(force);
  std::vector<std::pair<std::string, Parting>> plan;
  for (const Farewell& farewell : PlanDrain(desired, pods, asked))
    plan.emplace_back(farewell.pod->name, farewell.parting);
  return plan;
}

// "Pods labelled interruptable go first and at once; Pods labelled graceful-interruptible are
// deleted with their own grace period; all others through the Eviction API"
TEST(PlanDrain, GoesByClass) {
  EXPECT_THAT(Plan(true, false, EveryKind()),
              ElementsAre(Pair("interruptable", Parting::kAtOnce),
                          Pair("graceful", Parting::kGraceful), Pair("guarded", Parting::kEvict)));
}

TEST(PlanDrain, AsksNobodyUnlessTheNodeIsToBeDrained) {
  EXPECT_THAT(Plan(false, false, EveryKind()), IsEmpty());
  EXPECT_THAT(Plan(false, true, EveryKind()), IsEmpty());
}

TEST(PlanDrain, AsksNobodyTwice) {
  EXPECT_THAT(Plan(true, false, EveryKind(), {"uid-of-interruptable", "uid-of-guarded"}),
              ElementsAre(Pair("graceful", Parting::kGraceful)));
}

TEST(PlanDrain, AsksAnotherPodOfTheSameName) {
  std::vector<PodObject> pods = {MakePod("db-0", Class::kGuarded)};
  pods[0].uid = "second";
  EXPECT_THAT(Plan(true, false, pods, {"first"}), ElementsAre(Pair("db-0", Parting::kEvict)));
}

// "Past the drain's deadline the rest is deleted"
TEST(PlanDrain, ForcesWhateverIsLeft) {
  EXPECT_THAT(
      Plan(true, true, EveryKind(), {"uid-of-graceful", "uid-of-guarded"}),
      ElementsAre(Pair("guarded", Parting::kForce), Pair("graceful", Parting::kForce),
                  Pair("interruptable", Parting::kForce), Pair("leaving", Parting::kForce)));
}

TEST(PlanDrain, KeepsTheOrderWithinAClass) {
  const std::vector<PodObject> pods = {MakePod("b", Class::kGuarded),
                                       MakePod("x", Class::kInterruptable),
                                       MakePod("a", Class::kGuarded)};
  EXPECT_THAT(Plan(true, false, pods),
              ElementsAre(Pair("x", Parting::kAtOnce), Pair("b", Parting::kEvict),
                          Pair("a", Parting::kEvict)));
}

TEST(FarewellBody, HoldsForThisPodOnly) {
  const PodObject pod = MakePod("a", Class::kGuarded);
  Json options = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", "uid-of-a"}}}};
  EXPECT_EQ(FarewellBody({Parting::kGraceful, &pod}), options) << "its own grace period";
  EXPECT_EQ(FarewellBody({Parting::kEvict, &pod}),
            Json({{"apiVersion", "policy/v1"},
                  {"kind", "Eviction"},
                  {"metadata", {{"name", "a"}, {"namespace", "team"}}},
                  {"deleteOptions", options}}));
  options["gracePeriodSeconds"] = 1;
  EXPECT_EQ(FarewellBody({Parting::kAtOnce, &pod}), options);
  options["gracePeriodSeconds"] = 0;
  EXPECT_EQ(FarewellBody({Parting::kForce, &pod}), options);
}

}  // namespace
}  // namespace muster::kubernetes
