#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "services/kubernetes/core/status.h"
#include "services/kubernetes/core/testing/status.h"
#include "services/kubernetes/core/text.h"

// Whose names conditions bear, and what counts as said.
namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "`first` maps Validated→Accepted, AtTarget→Allocated, Capacity→SufficientCapacity and adds
// MetadataSynced (Synced, Pending, Unknown)"
TEST(Editions, FirstHasTheFirstEditionsNames) {
  const v1::NodePool pool = HealthyPool();
  const Json status = Desired(MakeObject(1), &pool, Edition::kFirst);
  EXPECT_THAT(Types(status),
              ElementsAre("Accepted", "SufficientCapacity", "Allocated", "MetadataSynced"));
  EXPECT_EQ(Find(status, "Accepted")["message"], "NodePool configuration is valid.");
  EXPECT_EQ(Find(status, "Accepted")["reason"], "Accepted");
  EXPECT_EQ(Find(status, "Allocated")["reason"], "Complete");
  EXPECT_EQ(Find(status, "Accepted")["lastTransitionTime"], kTime);
  EXPECT_EQ(Find(status, "MetadataSynced")["reason"], "Synced");
  EXPECT_EQ(Find(status, "MetadataSynced")["status"], "True");
}

TEST(Editions, BothHasBothAndNoTypeTwice) {
  v1::NodePool pool = HealthyPool();
  *pool.mutable_status()->add_conditions() = MakeCondition("NodesRemoved", "False", "Pending", "");
  const Json status =
      Desired(MakeObject(1), &pool, Edition::kBoth, {}, Synced{.nodes = 3, .pending = 2});
  EXPECT_THAT(
      Types(status),
      ElementsAre("Validated", "Accepted", "Capacity", "SufficientCapacity", "Quota", "AtTarget",
                  "Allocated", "NodeReconfigurationRequired", "NodesRemoved", "MetadataSynced"));
  const Json synced = Find(status, "MetadataSynced");
  EXPECT_EQ(synced["reason"], "Pending");
  EXPECT_EQ(synced["status"], "False");
  EXPECT_THAT(synced["message"].get<std::string>(), HasSubstr("2 of 3 Nodes"));
}

TEST(Editions, ARefusalIsNamedByEach) {
  const auto types = [](Edition edition) {
    return Types(Desired(MakeObject(1), nullptr, edition, Refusal{1, "no"}));
  };
  EXPECT_THAT(types(Edition::kCurrent), ElementsAre("Validated"));
  EXPECT_THAT(types(Edition::kFirst), ElementsAre("Accepted", "Allocated", "MetadataSynced"));
  EXPECT_THAT(types(Edition::kBoth),
              ElementsAre("Validated", "Accepted", "Allocated", "MetadataSynced"));
}

TEST(NoCluster, WhatIsNotLookedAtIsNotWrongAndItsNodesAreNotGone) {
  const NodePoolObject object = MakeObject(
      2, {{"currentNodes", 3}, {"inProgress", 1}, {"queuedNodes", 2}, {"nodeProfile", "np-1"}});
  const Refusal refusal{2, "no cluster", Refusal::Kind::kNoCluster};
  const Json status = Desired(object, nullptr, Edition::kBoth, refusal);
  for (const char* type : {"Validated", "Accepted"}) {
    EXPECT_EQ(Find(status, type)["status"], "Unknown") << type;
    EXPECT_EQ(Find(status, type)["reason"], "InternalError") << type;
    EXPECT_EQ(Find(status, type)["message"], "no cluster") << type;
  }
  EXPECT_TRUE(SaysRefusal(status, refusal));
  EXPECT_EQ(status["currentNodes"], 3);
  EXPECT_EQ(status["inProgress"], 1);
  EXPECT_EQ(status["queuedNodes"], 2);
  EXPECT_EQ(status["nodeProfile"], "np-1");
  // One that never had any says so.
  EXPECT_EQ(Desired(MakeObject(1), nullptr, Edition::kCurrent, refusal)["currentNodes"], 0);
  const Refusal forbidden{2, "not by you", Refusal::Kind::kForbidden};
  EXPECT_EQ(Desired(object, nullptr, Edition::kCurrent, forbidden)["currentNodes"], 3);
  // Beyond a limit there is nothing of it.
  const Refusal limit{2, "three", Refusal::Kind::kLimit};
  EXPECT_EQ(Desired(object, nullptr, Edition::kCurrent, limit)["currentNodes"], 0);
}

struct Said {
  std::string status = {};
  std::string reason = {};
  std::string message = {};
  bool operator==(const Said&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Said& said) {
    return out << said.status << "/" << said.reason << ": " << said.message;
  }
};

Said SaidOf(const Json& status, const std::string& type) {
  const Json condition = Find(status, type);
  return {condition["status"], condition["reason"], condition["message"]};
}

v1::Condition& ConditionOf(v1::NodePool& pool, const std::string& type) {
  for (v1::Condition& condition : *pool.mutable_status()->mutable_conditions()) {
    if (condition.type() == type) return condition;
  }
  return *pool.mutable_status()->add_conditions();
}

// "PolicyViolation: the Node Pool's configuration is considered invalid because of a specific
// policy violation, such as a certain Instance Type being unavailable at the specified Region." Of
// Accepted and of Allocated.
TEST(FirstEdition, ATypeThatTheZoneDoesNotHaveIsAPolicyViolation) {
  v1::NodePool pool = HealthyPool();
  v1::Condition& validated = ConditionOf(pool, "Validated");
  validated = MakeCondition("Validated", "False", "Invalid", "Not in zone.");
  validated.set_event_reason("CWInstanceTypeNotInZone");
  ConditionOf(pool, "AtTarget") = MakeCondition("AtTarget", "False", "UnderTarget", "0 of 1.");
  Json status = Desired(MakeObject(1), &pool, Edition::kFirst);
  EXPECT_EQ(SaidOf(status, "Accepted"), (Said{"False", "PolicyViolation", "Not in zone."}));
  EXPECT_EQ(SaidOf(status, "Allocated"),
            (Said{"False", "PolicyViolation", "0 of 1. Not in zone."}));
  ConditionOf(pool, "AtTarget") = MakeCondition("AtTarget", "True", "TargetMet", "There.");
  status = Desired(MakeObject(1), &pool, Edition::kFirst);
  EXPECT_EQ(SaidOf(status, "Allocated"), (Said{"True", "Complete", "There."}))
      << "what it has stays";
  validated.set_event_reason("CWInvalidInstanceType");
  status = Desired(MakeObject(1), &pool, Edition::kFirst);
  EXPECT_EQ(SaidOf(status, "Accepted"), (Said{"False", "Invalid", "Not in zone."}));
}

// The first edition has no condition Quota: what it would say is said where the policy is.
TEST(FirstEdition, TheQuotaIsPartOfAccepted) {
  v1::NodePool pool = HealthyPool();
  ConditionOf(pool, "Quota") = MakeCondition("Quota", "False", "Over", "Over quota.");
  ConditionOf(pool, "AtTarget") = MakeCondition("AtTarget", "False", "UnderTarget", "0 of 1.");
  const auto accepted = [&](Edition edition = Edition::kFirst) {
    return SaidOf(Desired(MakeObject(1), &pool, edition), "Accepted");
  };
  EXPECT_EQ(accepted(), (Said{"False", "PolicyViolation", "Over quota."}));
  EXPECT_EQ(accepted(Edition::kBoth), accepted());
  EXPECT_EQ(SaidOf(Desired(MakeObject(1), &pool, Edition::kFirst), "Allocated"),
            (Said{"False", "PolicyViolation", "0 of 1. Over quota."}));
  ConditionOf(pool, "Quota") = MakeCondition("Quota", "False", "NotSet", "No quota.");
  EXPECT_EQ(accepted(), (Said{"False", "PolicyViolation", "No quota."}));
  ConditionOf(pool, "Quota") = MakeCondition("Quota", "Unknown", "InternalError", "Away.");
  EXPECT_EQ(accepted(), (Said{"Unknown", "InternalError", "Away."}));
  ConditionOf(pool, "Validated") = MakeCondition("Validated", "False", "Invalid", "Wrong.");
  EXPECT_EQ(accepted(), (Said{"False", "Invalid", "Wrong."})) << "before the quota";
}

TEST(FirstEdition, AcceptedTurnsWhenTheFirstOfTwoDoesAndBackWithTheLast) {
  const auto since = [](bool valid, int64_t valid_since, bool under, int64_t under_since) {
    v1::NodePool pool = HealthyPool();
    v1::Condition& validated = ConditionOf(pool, "Validated");
    validated.set_status(valid ? "True" : "False");
    validated.set_reason(valid ? "Valid" : "Invalid");
    *validated.mutable_last_transition_time() = Stamp(kThen + valid_since);
    v1::Condition& quota = ConditionOf(pool, "Quota");
    quota.set_status(under ? "True" : "False");
    quota.set_reason(under ? "Under" : "Over");
    *quota.mutable_last_transition_time() = Stamp(kThen + under_since);
    const Json accepted = Find(Desired(MakeObject(1), &pool, Edition::kFirst), "Accepted");
    return accepted["lastTransitionTime"].get<std::string>();
  };
  const auto at = [](int64_t seconds) { return KubernetesTime(Stamp(kThen + seconds)); };
  EXPECT_EQ(since(true, 1, true, 5), at(5));
  EXPECT_EQ(since(true, 1, false, 5), at(5));
  EXPECT_EQ(since(false, 7, true, 5), at(7));
  EXPECT_EQ(since(false, 7, false, 5), at(5));
}

// "`lastTransitionTime` moves only when `status` changes"
TEST(FirstEdition, TheTimeOfAcceptedMovesWithItsStatusAlone) {
  v1::NodePool pool = HealthyPool();
  Json status = Json::object();
  const auto turn = [&](const char* type, const char* word, const char* reason, int64_t at) {
    v1::Condition& condition = ConditionOf(pool, type);
    condition = MakeCondition(type, word, reason, "");
    *condition.mutable_last_transition_time() = Stamp(kThen + at);
    status = Desired(MakeObject(1, status), &pool, Edition::kFirst);
    const Json accepted = Find(status, "Accepted");
    return std::pair(accepted["status"].get<std::string>(),
                     accepted["lastTransitionTime"].get<std::string>());
  };
  const auto since = [](const char* word, int64_t seconds) {
    return std::pair(std::string(word), KubernetesTime(Stamp(kThen + seconds)));
  };
  EXPECT_EQ(turn("Quota", "False", "Over", 1), since("False", 1));
  EXPECT_EQ(turn("Validated", "False", "Invalid", 10), since("False", 1));
  EXPECT_EQ(turn("Quota", "True", "Under", 20), since("False", 1)) << "of the other part now";
  EXPECT_EQ(turn("Validated", "True", "Valid", 25), since("True", 25));
  EXPECT_EQ(turn("Quota", "False", "Over", 30), since("False", 30));
  EXPECT_EQ(turn("Validated", "Unknown", "InternalError", 40), since("Unknown", 40));
}

// "Unknown: the current status of the Node Pool is unknown." / "of updating the metadata".
TEST(FirstEdition, WhatIsNotKnownIsUnknown) {
  Json status = Desired(MakeObject(1), nullptr, Edition::kFirst, Refusal{1, "no"});
  EXPECT_EQ(SaidOf(status, "Allocated"),
            (Said{"Unknown", "Unknown", "Muster has not taken the NodePool."}));
  EXPECT_EQ(SaidOf(status, "MetadataSynced"),
            (Said{"Unknown", "Unknown", "Muster has not taken the NodePool."}));
  v1::NodePool pool = HealthyPool();
  pool.mutable_status()->clear_conditions();
  status = Desired(MakeObject(1), &pool, Edition::kFirst);
  EXPECT_EQ(SaidOf(status, "Allocated"), (Said{"Unknown", "Unknown", "Nothing is known yet."}));
  status = Desired(MakeObject(1), &pool, Edition::kFirst, {}, Synced{.nodes = 2, .unknown = 1});
  EXPECT_EQ(SaidOf(status, "MetadataSynced"),
            (Said{"Unknown", "Unknown",
                  "It is not known whether 1 of 2 Nodes are those that are in the cluster."}));
}

// "or because no Nodes have up-to-date metadata (i.e., if the Node Pool is just spinning up)"
TEST(FirstEdition, MetadataOfAPoolThatSpinsUpIsPending) {
  v1::NodePool pool = HealthyPool();
  const auto reason = [&](int64_t target) {
    pool.mutable_spec()->set_target_nodes(target);
    return SaidOf(Desired(MakeObject(1), &pool, Edition::kFirst), "MetadataSynced").reason;
  };
  EXPECT_EQ(reason(1), "Pending");
  EXPECT_EQ(reason(0), "Synced") << "it wants none";
  *pool.mutable_delete_time() = Stamp(kThen);
  EXPECT_EQ(reason(1), "Synced") << "it has none any more";
}

// Told once, whichever names the object bears, and again when it is another.
TEST(Refusal, IsKnownFromTheObjectThatSaysIt) {
  for (const Edition edition : {Edition::kCurrent, Edition::kFirst, Edition::kBoth}) {
    const Json status = Desired(MakeObject(1), nullptr, edition, Refusal{1, "no"});
    EXPECT_TRUE(SaysRefusal(status, Refusal{1, "no"}));
    EXPECT_FALSE(SaysRefusal(status, Refusal{2, "no"}));
    EXPECT_FALSE(SaysRefusal(status, Refusal{1, "never"}));
  }
  EXPECT_FALSE(SaysRefusal(Json::object(), Refusal{1, "no"}));
}

TEST(Editions, AChangeTakesTheOthersNamesAway) {
  const v1::NodePool pool = HealthyPool();
  const Json both = Desired(MakeObject(1), &pool, Edition::kBoth);
  const Json current = Desired(MakeObject(1, both), &pool);
  EXPECT_FALSE(StatusMatches(both, current));
  EXPECT_THAT(Types(Merge(both, both, current)), testing::Not(testing::Contains("Accepted")));
  EXPECT_TRUE(StatusMatches(Merge(both, both, current), current));
}

TEST(StatusMatches, CountsOnlyWhatIsOurs) {
  const v1::NodePool pool = HealthyPool();
  const Json desired = Desired(MakeObject(1), &pool);
  Json status = desired;
  EXPECT_TRUE(StatusMatches(status, desired));
  status["foreign"] = 1;
  status["conditions"].insert(status["conditions"].begin(),
                              Json{{"type", "Foreign"}, {"status", "True"}});
  EXPECT_TRUE(StatusMatches(status, desired));
  EXPECT_FALSE(StatusMatches(Json::object(), desired));
  for (const auto& item : desired.items()) {
    Json without = status;
    without.erase(item.key());
    EXPECT_FALSE(StatusMatches(without, desired)) << item.key();
  }
  for (size_t i = 1; i < status["conditions"].size(); ++i) {
    for (const auto& item : desired["conditions"][i - 1].items()) {
      Json other = status;
      other["conditions"][i][item.key()] = "x";
      EXPECT_FALSE(StatusMatches(other, desired)) << i << item.key();
    }
  }
  status["nodeProfile"] = "np-0123456789ab";
  EXPECT_FALSE(StatusMatches(status, desired)) << "one that is to go";
}

// Written once, nothing is written again: through a refusal, a change of edition, and the end.
TEST(StatusMatches, IsAFixpointOfEveryStep) {
  v1::NodePool pool = HealthyPool();
  pool.set_generation(2);
  for (const Edition edition : {Edition::kCurrent, Edition::kFirst, Edition::kBoth}) {
    Json live = {{"conditions", Json::array({Json{{"type", "Foreign"}, {"status", "True"}}})}};
    Json before = Json::object();
    const auto step = [&](const v1::NodePool* of, const std::optional<Refusal>& refusal,
                          bool gone) {
      const auto at = [&](absl::Time now) {
        const NodePoolObject object = MakeObject(2, live);
        return *DesiredStatus(
            {.object = &object, .pool = of, .refusal = refusal, .gone = gone, .edition = edition},
            now);
      };
      const Json desired = at(Now());
      EXPECT_FALSE(StatusMatches(live, desired));
      live = Merge(live, before, desired);
      before = desired;
      EXPECT_TRUE(StatusMatches(live, at(Now() + absl::Hours(1)))) << live << at(Now());
      EXPECT_FALSE(Find(live, "Foreign").is_null());
    };
    step(nullptr, Refusal{2, "no"}, false);
    step(&pool, std::nullopt, false);
    step(&pool, Refusal{2, "no"}, false);
    step(nullptr, std::nullopt, true);
  }
}

// "UnderTarget": most pools that grow break no policy.
TEST(FirstEdition, APoolThatGrowsViolatesNoPolicy) {
  v1::NodePool pool = HealthyPool();
  ConditionOf(pool, "AtTarget") = MakeCondition("AtTarget", "False", "UnderTarget", "0 of 1.");
  const Json status = Desired(MakeObject(1), &pool, Edition::kFirst);
  EXPECT_EQ(SaidOf(status, "Accepted").reason, "Accepted");
  EXPECT_NE(SaidOf(status, "Allocated").reason, "PolicyViolation");
  EXPECT_EQ(SaidOf(status, "Allocated").message, "0 of 1.");
}

TEST(FirstEdition, MetadataOfAPoolThatHasItsNodesIsSynced) {
  v1::NodePool pool = HealthyPool();
  pool.mutable_spec()->set_target_nodes(2);
  const auto said = [&](const Synced& synced) {
    return SaidOf(Desired(MakeObject(1), &pool, Edition::kFirst, {}, synced), "MetadataSynced");
  };
  EXPECT_EQ(said({.nodes = 1}).reason, "Synced");
  EXPECT_EQ(said({.nodes = 1, .pending = 1}).message, "Metadata of 1 of 1 Node is not synced yet.");
}

// "`lastTransitionTime` moves only when `status` changes": by the name that the object has.
TEST(FirstEdition, TheTimeOfAnOldNameStaysWhatTheObjectSays) {
  v1::NodePool pool = HealthyPool();
  Json status = Desired(MakeObject(1), &pool, Edition::kFirst);
  for (Json& condition : status["conditions"]) {
    if (condition["type"] == "Allocated") condition["lastTransitionTime"] = kLater;
  }
  const Json again = Desired(MakeObject(1, status), &pool, Edition::kFirst);
  EXPECT_EQ(Find(again, "Allocated")["lastTransitionTime"], kLater);
}

// Only the one that says the refusal gives way to it.
TEST(Refusal, LeavesWhatMusterSaysOfAllElse) {
  const v1::NodePool pool = HealthyPool();
  const Json status = Desired(MakeObject(1), &pool, Edition::kCurrent, Refusal{1, "no"});
  EXPECT_THAT(Types(status), ElementsAre("Validated", "Capacity", "Quota", "AtTarget",
                                         "NodeReconfigurationRequired"));
  EXPECT_EQ(Find(status, "Validated")["message"], "no");
}

TEST(Status, AConfigurationWithoutATimeHasNone) {
  v1::NodePool pool = HealthyPool();
  pool.mutable_status()->mutable_pending_node_configuration()->set_node_profile("np-1");
  EXPECT_FALSE(Desired(MakeObject(1), &pool)["pendingNodeConfiguration"].contains("createdAt"));
}

}  // namespace
}  // namespace muster::kubernetes
