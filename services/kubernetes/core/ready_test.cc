#include "services/kubernetes/core/ready.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/condition_names.h"
#include "services/kubernetes/core/testing/status.h"

namespace muster::kubernetes {
namespace {

using ::testing::Contains;
using ::testing::Not;

class ReadyTest : public ::testing::Test {
 protected:
  Json Show() {
    facts_.object = &object_;
    facts_.ready = true;
    return DesiredStatus(facts_, Now()).value_or(Json());
  }
  // `status/reason`, then what goes with it.
  std::string Ready() {
    const Json status = Show();
    const Json ready = Find(status, "Ready");
    std::string said =
        ready["status"].get<std::string>() + "/" + ready["reason"].get<std::string>();
    for (const char* type : {"Reconciling", "Stalled"}) {
      const Json condition = Find(status, type);
      if (condition.is_null()) continue;
      EXPECT_EQ(condition["status"], "True");
      EXPECT_EQ(condition["message"], ready["message"]);
      said += std::string(" ") + type;
    }
    return said;
  }
  // What Muster says of the pool.
  void SayReady(const std::string& word, const std::string& reason, const char* beside = nullptr) {
    auto& conditions = *pool_.mutable_status()->mutable_conditions();
    while (IsSummaryCondition(conditions.rbegin()->type())) conditions.RemoveLast();
    *conditions.Add() = MakeCondition("Ready", word, reason, "Because of " + reason + ".");
    if (beside != nullptr)
      *conditions.Add() = MakeCondition(beside, "True", reason, "Because of " + reason + ".");
  }

  void SetUp() override { SayReady("True", "Ready"); }

  NodePoolObject object_ = MakeObject(1);
  v1::NodePool pool_ = HealthyPool();
  StatusFacts facts_{.pool = &pool_, .service = {.nodes = 1}};
};

TEST_F(ReadyTest, AHealthyPoolIs) {
  EXPECT_EQ(Ready(), "True/Ready");
  EXPECT_EQ(Show()["observedGeneration"], 1);
  EXPECT_EQ(Find(Show(), "Ready")["observedGeneration"], 1);
  for (const Edition edition : {Edition::kFirst, Edition::kBoth}) {
    facts_.edition = edition;
    EXPECT_EQ(Ready(), "True/Ready");
  }
}

// It may be at its target all the time.
TEST_F(ReadyTest, AMaxNodesOutOfReachIsNoAilment) {
  *pool_.mutable_status()->add_conditions() =
      MakeCondition("MaxNodesUnreachable", "True", "Quota", "spec.maxNodes is 6, ...");
  EXPECT_EQ(Ready(), "True/Ready");
  EXPECT_EQ(Show()["observedGeneration"], 1);
}

TEST_F(ReadyTest, NobodySeesItUnasked) {
  const Json status = Desired(object_, &pool_);
  EXPECT_THAT(Types(status), Not(Contains("Ready")));
  EXPECT_FALSE(status.contains("observedGeneration"));
}

TEST_F(ReadyTest, IsWhatMusterSays) {
  SayReady("False", "QueuedAwaitingCapacity", "Reconciling");
  EXPECT_EQ(Ready(), "False/QueuedAwaitingCapacity Reconciling");
  EXPECT_EQ(Find(Show(), "Ready")["message"], "Because of QueuedAwaitingCapacity.");
  SayReady("False", "Over", "Stalled");
  EXPECT_EQ(Ready(), "False/Over Stalled");
  SayReady("Unknown", "InternalError", "Reconciling");
  EXPECT_EQ(Ready(), "Unknown/InternalError Reconciling");
  facts_.held = "3 Nodes would go.";
  EXPECT_EQ(Ready(), "False/RemovalsHeld Stalled");
}

TEST_F(ReadyTest, ARefusedSpecIsStalledAndSeen) {
  object_.generation = 2;
  facts_.refusal = Refusal{2, "spec.targetNodes: must not be negative."};
  EXPECT_EQ(Ready(), "False/Invalid Stalled");
  EXPECT_EQ(Show()["observedGeneration"], 2);
  EXPECT_EQ(Find(Show(), "Ready")["message"], "spec.targetNodes: must not be negative.");
  facts_.pool = nullptr;
  EXPECT_EQ(Ready(), "False/Invalid Stalled");
  facts_.refusal->kind = Refusal::Kind::kLimit;
  EXPECT_EQ(Ready(), "False/Over Stalled");
  for (const auto kind : {Refusal::Kind::kNoCluster, Refusal::Kind::kForbidden}) {
    facts_.refusal->kind = kind;
    EXPECT_EQ(Ready(), "False/InternalError Stalled");
  }
}

TEST_F(ReadyTest, OneThatWaitsForTheFormerOfItsNameIsNotStalled) {
  facts_.pool = nullptr;
  facts_.refusal = Refusal{1, "of an earlier object", Refusal::Kind::kFormer};
  EXPECT_EQ(Ready(), "False/InternalError Reconciling");
  EXPECT_EQ(Find(Show(), "Validated")["status"], "Unknown");
  EXPECT_EQ(Show()["observedGeneration"], 1);
}

TEST_F(ReadyTest, ADeletedOneThatMayNotGoIsStalled) {
  object_.deleting = true;
  EXPECT_EQ(Ready(), "False/PendingDelete Reconciling");
  facts_.refusal = Refusal{1, "not by you", Refusal::Kind::kUndeleted};
  EXPECT_EQ(Ready(), "False/PendingDelete Stalled");
  EXPECT_EQ(Find(Show(), "Ready")["message"], "not by you");
  EXPECT_EQ(Find(Show(), "NodesRemoved")["status"], "Unknown");
}

// What was said of an earlier spec makes nobody think that the one of now is met.
TEST_F(ReadyTest, ASpecThatIsNotTakenUpIsNotReady) {
  object_.generation = 2;
  EXPECT_EQ(Ready(), "False/Reconciling Reconciling");
  EXPECT_EQ(Show()["observedGeneration"], 1);
  pool_.set_object_generation(2);
  pool_.set_generation(2);
  EXPECT_EQ(Ready(), "False/Reconciling Reconciling");
  for (auto& condition : *pool_.mutable_status()->mutable_conditions())
    condition.set_observed_generation(2);
  EXPECT_EQ(Ready(), "True/Ready");
  EXPECT_EQ(Show()["observedGeneration"], 2);
}

TEST_F(ReadyTest, EveryNodeHasToBeInService) {
  facts_.service = {.nodes = 8, .absent = 2};
  EXPECT_EQ(Ready(), "False/NodesNotInService Reconciling");
  EXPECT_EQ(Find(Show(), "Ready")["message"], "2 of 8 Nodes are not in service.");
}

TEST_F(ReadyTest, MetadataThatIsRefusedSomebodyHasToMend) {
  facts_.metadata_refusal = {1, "g1: No."};
  facts_.service = {.nodes = 1, .absent = 1};
  EXPECT_EQ(Ready(), "False/InternalError Stalled");
  SayReady("False", "Over", "Stalled");
  EXPECT_EQ(Ready(), "False/Over Stalled") << "what the pool stalls by is told first";
}

// Nor is it by one condition alone.
TEST_F(ReadyTest, IsOfTheOldestConditionWhicheverIsMissing) {
  pool_.mutable_status()->mutable_conditions()->erase(
      pool_.mutable_status()->mutable_conditions()->begin());
  object_.generation = 2;
  pool_.set_generation(2);
  pool_.set_object_generation(2);
  EXPECT_EQ(Ready(), "False/Reconciling Reconciling");
}

TEST_F(ReadyTest, OneThatIsBeingDeletedIsNot) {
  object_.deleting = true;
  EXPECT_EQ(Ready(), "False/PendingDelete Reconciling");
  object_.deleting = false;
  *pool_.mutable_delete_time() = Stamp(kThen);
  EXPECT_EQ(Ready(), "False/PendingDelete Reconciling") << "by a deletion through Muster's own API";
}

// In the names of the first edition none of what it goes by is there.
TEST_F(ReadyTest, GoesByTodaysConditionsWhateverTheirNames) {
  object_.generation = 2;
  pool_.set_generation(2);
  pool_.set_object_generation(2);
  for (const Edition edition : {Edition::kFirst, Edition::kBoth}) {
    facts_.edition = edition;
    EXPECT_EQ(Ready(), "False/Reconciling Reconciling");
  }
}

// "`observedGeneration` is always set": of what was refused, not of what came since.
TEST_F(ReadyTest, ARefusalIsOfTheGenerationThatWasRefused) {
  object_.generation = 3;
  facts_.refusal = Refusal{2, "no"};
  EXPECT_EQ(Show()["observedGeneration"], 2);
  EXPECT_EQ(Find(Show(), "Ready")["observedGeneration"], 2);
}

TEST_F(ReadyTest, WhatIsNotKnownYetIsUnknown) {
  pool_.mutable_status()->mutable_conditions()->RemoveLast();
  EXPECT_EQ(Ready(), "Unknown/Unknown Reconciling");
}

TEST_F(ReadyTest, IsTakenAwayWhenItIsNotWantedAnyMore) {
  const Json shown = Show();
  EXPECT_TRUE(StatusMatches(shown, Show()));
  EXPECT_FALSE(StatusMatches(shown, Desired(object_, &pool_)));
}

TEST_F(ReadyTest, ItsTimeStaysWhileItsStatusDoes) {
  SayReady("False", "UnderTarget", "Reconciling");
  object_.status = Show();
  object_.status["conditions"].back()["lastTransitionTime"] = kTime;
  for (Json& condition : object_.status["conditions"]) {
    if (condition["type"] == "Ready") condition["lastTransitionTime"] = kTime;
  }
  SayReady("False", "Partial", "Reconciling");
  EXPECT_EQ(Find(Show(), "Ready")["lastTransitionTime"], kTime);
  SayReady("True", "Ready");
  EXPECT_EQ(Find(Show(), "Ready")["lastTransitionTime"], kLater);
}

}  // namespace
}  // namespace muster::kubernetes
