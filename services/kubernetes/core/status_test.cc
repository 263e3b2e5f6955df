#include "services/kubernetes/core/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/kubernetes/core/refusal.h"
#include "services/kubernetes/core/testing/status.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(Status, OfAHealthyPoolIsTheReferencesExample) {
  const v1::NodePool pool = HealthyPool();
  const Json wanted = Json::parse(R"({
    "conditions": [
      {"lastTransitionTime": "2025-05-30T17:36:00Z", "message": "NodePool configuration is valid.",
       "reason": "Valid", "status": "True", "type": "Validated", "observedGeneration": 1},
      {"lastTransitionTime": "2025-05-30T17:36:00Z",
       "message": "Sufficient capacity available for the requested instance type.",
       "reason": "Sufficient", "status": "True", "type": "Capacity", "observedGeneration": 1},
      {"lastTransitionTime": "2025-05-30T17:36:00Z", "message": "NodePool is within instance type quota.",
       "reason": "Under", "status": "True", "type": "Quota", "observedGeneration": 1},
      {"lastTransitionTime": "2025-05-30T17:36:00Z", "message": "NodePool has reached its target node count.",
       "reason": "TargetMet", "status": "True", "type": "AtTarget", "observedGeneration": 1},
      {"lastTransitionTime": "2025-05-30T17:36:00Z", "message": "All nodes are on the current configuration.",
       "reason": "AllNodesUpToDate", "status": "False", "type": "NodeReconfigurationRequired",
       "observedGeneration": 1}],
    "currentNodes": 1, "inProgress": 0, "queuedNodes": 0})");
  EXPECT_EQ(Desired(MakeObject(1), &pool), wanted);
}

// "In the order Validated, Capacity, Quota, AtTarget, NodeReconfigurationRequired, NodesRemoved."
TEST(Status, KeepsTheOrderOfConditions) {
  v1::NodePool pool = HealthyPool();
  *pool.mutable_status()->add_conditions() = MakeCondition("NodesRemoved", "False", "Pending", "");
  EXPECT_THAT(Types(Desired(MakeObject(1), &pool)),
              ElementsAre("Validated", "Capacity", "Quota", "AtTarget",
                          "NodeReconfigurationRequired", "NodesRemoved"));
}

TEST(Status, NamesConfigurationsAsTheReferenceDoes) {
  v1::NodePool pool = HealthyPool();
  v1::NodePoolStatus& status = *pool.mutable_status();
  status.set_queued_nodes(3);
  status.set_in_progress(2);
  status.set_node_profile("np-0123456789ab");
  v1::NodeConfiguration& pending = *status.mutable_pending_node_configuration();
  *pending.mutable_created_at() = Stamp(kThen, 999'000'000);
  pending.set_node_profile("np-ba9876543210");
  pending.add_summary("GPU driver 570.86.15 → 570.124.06");
  v1::NodeConfiguration& revision = *status.add_node_configuration_revisions();
  *revision.mutable_created_at() = Stamp(kThen);
  revision.set_node_profile("np-0123456789ab");
  revision.set_active_nodes(1);
  *status.add_node_configuration_revisions() = revision;
  status.mutable_node_configuration_revisions(1)->set_disabled(true);
  status.mutable_node_configuration_revisions(1)->set_enable_count(2);
  const Json json = Desired(MakeObject(1), &pool);
  EXPECT_EQ(json["queuedNodes"], 3);
  EXPECT_EQ(json["inProgress"], 2);
  EXPECT_EQ(json["nodeProfile"], "np-0123456789ab");
  EXPECT_EQ(json["pendingNodeConfiguration"],
            Json({{"createdAt", kTime},
                  {"nodeProfile", "np-ba9876543210"},
                  {"summary", Json::array({"GPU driver 570.86.15 → 570.124.06"})}}));
  ASSERT_EQ(json["nodeConfigurationRevisions"].size(), 2u);
  EXPECT_EQ(json["nodeConfigurationRevisions"][0], Json({{"createdAt", kTime},
                                                         {"nodeProfile", "np-0123456789ab"},
                                                         {"summary", Json::array()},
                                                         {"activeNodes", 1}}));
  EXPECT_EQ(json["nodeConfigurationRevisions"][1]["disabled"], true);
  EXPECT_EQ(json["nodeConfigurationRevisions"][1]["enableCount"], 2);
  EXPECT_FALSE(json.contains("waitingNodeConfiguration"));
  *status.mutable_waiting_node_configuration() = pending;
  EXPECT_EQ(Desired(MakeObject(1), &pool)["waitingNodeConfiguration"]["nodeProfile"],
            "np-ba9876543210");
}

// Of an autoscaled pool, in both editions.
TEST(Status, ShowsWhatThePoolWouldBeGranted) {
  v1::NodePool pool = HealthyPool();
  EXPECT_FALSE(Desired(MakeObject(1), &pool).contains("grantableNodes"));
  EXPECT_EQ(GrantableText(pool), std::nullopt);
  pool.mutable_status()->set_grantable_nodes(0);
  pool.mutable_status()->set_grantable_nodes_bound_by("Quota");
  *pool.mutable_status()->add_conditions() =
      MakeCondition("MaxNodesUnreachable", "True", "Quota", "spec.maxNodes is 6, ...");
  for (const Edition edition : {Edition::kCurrent, Edition::kFirst, Edition::kBoth}) {
    const Json status = Desired(MakeObject(1), &pool, edition);
    EXPECT_EQ(status["grantableNodes"], 0);
    EXPECT_EQ(status["grantableNodesBoundBy"], "Quota");
    EXPECT_EQ(Find(status, "MaxNodesUnreachable")["reason"], "Quota");
    EXPECT_TRUE(StatusMatches(status, status));
    Json other = status;
    other["grantableNodes"] = 1;
    EXPECT_FALSE(StatusMatches(other, status));
  }
  EXPECT_EQ(GrantableText(pool), "0");
}

// Muster sees a Node that is there; the API server has it without its labels and taints.
TEST(Status, MetadataThatIsRefusedIsNoTargetMet) {
  v1::NodePool pool = HealthyPool();
  NodePoolObject object = MakeObject(1, Desired(MakeObject(1), &pool));
  StatusFacts facts{.object = &object, .pool = &pool, .edition = Edition::kBoth};
  facts.synced = {.nodes = 3, .pending = 1};
  facts.metadata_refusal = {1, "g1: nodes \"g1\" is forbidden"};
  Json status = *DesiredStatus(facts, Now());
  Json at_target = Find(status, "AtTarget");
  EXPECT_EQ(at_target["status"], "Unknown");
  EXPECT_EQ(at_target["reason"], "InternalError");
  EXPECT_EQ(at_target["message"],
            "NodePool has reached its target node count. The API server refuses the metadata of 1 "
            "Node: g1: nodes \"g1\" is forbidden");
  EXPECT_EQ(at_target["lastTransitionTime"], kLater);
  EXPECT_EQ(at_target["observedGeneration"], 1);
  EXPECT_EQ(Find(status, "Allocated")["status"], "True") << "the first edition has its own for it";
  EXPECT_EQ(Find(status, "MetadataSynced")["message"],
            "Metadata of 1 of 3 Nodes is not synced yet. The API server refuses the metadata of 1 "
            "Node: g1: nodes \"g1\" is forbidden");

  object.status = status;
  facts.metadata_refusal->nodes = 2;
  at_target = Find(*DesiredStatus(facts, Now() + absl::Minutes(1)), "AtTarget");
  EXPECT_THAT(at_target["message"].get<std::string>(), ::testing::HasSubstr("of 2 Nodes: g1: "));
  EXPECT_EQ(at_target["lastTransitionTime"], kLater) << "its status stays";

  facts.metadata_refusal.reset();
  at_target = Find(*DesiredStatus(facts, Now()), "AtTarget");
  EXPECT_EQ(at_target["reason"], "TargetMet");
  EXPECT_EQ(at_target["status"], "True");
}

// What is no target met anyway keeps its reason.
TEST(Status, MetadataThatIsRefusedIsToldBesideWhatElseIsAmiss) {
  v1::NodePool pool = HealthyPool();
  const NodePoolObject object = MakeObject(1);
  StatusFacts facts{.object = &object, .pool = &pool};
  facts.metadata_refusal = {1, "g1: No."};
  *pool.mutable_status()->mutable_conditions(3) =
      MakeCondition("AtTarget", "False", "UnderTarget", "1 of 2 Nodes.");
  const Json under = Find(*DesiredStatus(facts, Now()), "AtTarget");
  EXPECT_EQ(under["reason"], "UnderTarget");
  EXPECT_EQ(under["status"], "False");
  EXPECT_EQ(Find(*DesiredStatus(facts, Now()), "Validated")["message"],
            "NodePool configuration is valid.")
      << "it is told once";
  EXPECT_EQ(under["message"],
            "1 of 2 Nodes. The API server refuses the metadata of 1 Node: g1: No.");
  *pool.mutable_status()->mutable_conditions(3) =
      MakeCondition("AtTarget", "False", "PendingDelete", "Going.");
  const Json going = Find(*DesiredStatus(facts, Now()), "AtTarget");
  EXPECT_EQ(going["reason"], "PendingDelete");
  EXPECT_EQ(going["message"], "Going. The API server refuses the metadata of 1 Node: g1: No.");
}

TEST(Status, IsLeftAloneWhileNothingIsKnown) {
  EXPECT_TRUE(Desired(MakeObject(1), nullptr).is_null());
}

// Muster's generation counts changes of its own spec; the object's counts the object's.
TEST(ObservedGeneration, IsTheObjectsThatMustersSpecCameFrom) {
  v1::NodePool pool = HealthyPool();
  pool.set_generation(7);
  pool.set_object_generation(3);
  for (v1::Condition& condition : *pool.mutable_status()->mutable_conditions())
    condition.set_observed_generation(7);
  pool.mutable_status()->mutable_conditions(1)->set_observed_generation(6);
  const NodePoolObject object = MakeObject(
      4, {{"conditions", Json::array({Json{{"type", "Capacity"}, {"observedGeneration", 2}}})}});
  const Json status = Desired(object, &pool);
  EXPECT_EQ(Find(status, "Validated")["observedGeneration"], 3) << "not 4: that was not said yet";
  EXPECT_EQ(Find(status, "Capacity")["observedGeneration"], 2) << "of an earlier spec";
}

TEST(ObservedGeneration, OfAnOlderConditionIsBelowTheSpecsOfNow) {
  v1::NodePool pool = HealthyPool();
  pool.set_generation(2);
  pool.set_object_generation(5);
  const auto with = [&](const Json& named) {
    const NodePoolObject object = MakeObject(
        5, {{"conditions", Json::array({Json{{"type", "Quota"}, {"observedGeneration", named}}})}});
    return Find(Desired(object, &pool), "Quota")["observedGeneration"];
  };
  EXPECT_EQ(with(5), 4);
  EXPECT_EQ(with(3), 3);
  EXPECT_EQ(with(-1), 0);
  EXPECT_EQ(with("x"), 0);
  EXPECT_EQ(Find(Desired(MakeObject(5), &pool), "Quota")["observedGeneration"], 0) << "not known";
}

TEST(ObservedGeneration, OfAnOlderConditionIsFoundUnderTheFirstEditionsNameToo) {
  v1::NodePool pool = HealthyPool();
  pool.set_generation(2);
  pool.set_object_generation(5);
  const NodePoolObject object = MakeObject(
      5, {{"conditions", Json::array({Json{{"type", "Accepted"}, {"observedGeneration", 3}}})}});
  EXPECT_EQ(Find(Desired(object, &pool, Edition::kFirst), "Accepted")["observedGeneration"], 3);
}

// "a spec that Muster refuses shows as Validated=False/Invalid with every fault in the message"
TEST(Refusal, ShowsWithoutAPool) {
  const Json status = Desired(MakeObject(2), nullptr, Edition::kCurrent,
                              Refusal{2, "spec.minNodes: a; spec.gpu: b"});
  EXPECT_EQ(status["conditions"], Json::array({Json{{"type", "Validated"},
                                                    {"status", "False"},
                                                    {"reason", "Invalid"},
                                                    {"message", "spec.minNodes: a; spec.gpu: b"},
                                                    {"observedGeneration", 2},
                                                    {"lastTransitionTime", kLater}}}));
  EXPECT_EQ(status["currentNodes"], 0);
  EXPECT_EQ(status["queuedNodes"], 0);
  EXPECT_EQ(status["inProgress"], 0);
}

// "An invalid pool keeps the Nodes it has": all else is said of the spec that was taken.
TEST(Refusal, ShowsBesideWhatMusterSays) {
  const v1::NodePool pool = HealthyPool();
  const Json status = Desired(MakeObject(2), &pool, Edition::kCurrent, Refusal{2, "no"});
  EXPECT_THAT(Types(status), ElementsAre("Validated", "Capacity", "Quota", "AtTarget",
                                         "NodeReconfigurationRequired"));
  EXPECT_EQ(Find(status, "Validated")["message"], "no");
  EXPECT_EQ(Find(status, "Validated")["observedGeneration"], 2);
  EXPECT_EQ(Find(status, "Quota")["observedGeneration"], 1);
  EXPECT_EQ(status["currentNodes"], 1);
}

// Nothing is wrong with a spec that is one NodePool too many.
TEST(Refusal, OfALimitIsToldByQuota) {
  const Refusal limit{2, "three is the most", Refusal::Kind::kLimit};
  const Json without = Desired(MakeObject(2), nullptr, Edition::kCurrent, limit);
  EXPECT_THAT(Types(without), ElementsAre("Quota"));
  EXPECT_EQ(Find(without, "Quota")["status"], "False");
  EXPECT_EQ(Find(without, "Quota")["reason"], "Over");
  EXPECT_EQ(Find(without, "Quota")["message"], "three is the most");
  EXPECT_TRUE(SaysRefusal(without, limit));
  EXPECT_FALSE(SaysRefusal(without, Refusal{2, "three is the most"}));
  const v1::NodePool pool = HealthyPool();
  const Json beside = Desired(MakeObject(2), &pool, Edition::kCurrent, limit);
  EXPECT_THAT(Types(beside), ElementsAre("Quota", "Validated", "Capacity", "AtTarget",
                                         "NodeReconfigurationRequired"));
  EXPECT_EQ(Find(beside, "Quota")["message"], "three is the most");
  const Json first = Desired(MakeObject(2), nullptr, Edition::kFirst, limit);
  EXPECT_EQ(Find(first, "Accepted")["message"], "three is the most");
  EXPECT_EQ(Find(first, "Accepted")["status"], "False");
  EXPECT_TRUE(SaysRefusal(first, limit));
}

// An object that is deleted has a generation more, of which nobody said anything.
TEST(Refusal, IsOfTheGenerationThatWasRefused) {
  const Json status = Desired(MakeObject(3), nullptr, Edition::kCurrent, Refusal{2, "no"});
  EXPECT_EQ(Find(status, "Validated")["observedGeneration"], 2);
}

// A refusal was shown in between, which Muster knows nothing of.
TEST(TransitionTime, NeverGoesBack) {
  const v1::NodePool pool = HealthyPool();  // Valid since kTime
  const auto shown = [&](const char* word, const std::string& since) {
    const Json validated = {{"type", "Validated"}, {"status", word}, {"lastTransitionTime", since}};
    const NodePoolObject object = MakeObject(1, {{"conditions", Json::array({validated})}});
    return Find(Desired(object, &pool), "Validated")["lastTransitionTime"];
  };
  const std::string between = "2025-05-30T17:36:30Z";
  EXPECT_EQ(shown("False", between), kLater);
  EXPECT_EQ(shown("True", kLater), kLater);
  EXPECT_EQ(shown("True", between), between);
  EXPECT_EQ(shown("False", "2025-05-30T17:35:00Z"), kTime);
}

// "`lastTransitionTime` moves only when `status` changes"
TEST(TransitionTime, OfOurOwnConditionStaysWhileItsStatusDoes) {
  const auto refused = [](const Json& before) {
    const NodePoolObject object = MakeObject(2, {{"conditions", Json::array({before})}});
    const Json status = Desired(object, nullptr, Edition::kCurrent, Refusal{2, "no"});
    return Find(status, "Validated")["lastTransitionTime"];
  };
  const Json was = {{"type", "Validated"}, {"reason", "Valid"}, {"lastTransitionTime", kTime}};
  Json same = was;
  same["status"] = "False";
  EXPECT_EQ(refused(same), kTime);
  Json other = was;
  other["status"] = "True";
  EXPECT_EQ(refused(other), kLater);
  Json odd = was;
  odd["status"] = 7;
  EXPECT_EQ(refused(odd), kLater);
}

TEST(TransitionTime, OfMustersConditionsIsMusters) {
  const v1::NodePool pool = HealthyPool();
  const Json status = Desired(MakeObject(1), &pool);
  ASSERT_FALSE(status["conditions"].empty());
  for (const Json& condition : status["conditions"])
    EXPECT_EQ(condition["lastTransitionTime"], kTime);
}

// "The pool disappears only after `NodesRemoved=Complete` was published"
TEST(Gone, SaysThatAllNodesAreRemoved) {
  v1::NodePool pool = HealthyPool();
  pool.mutable_status()->set_node_profile("np-0123456789ab");
  *pool.mutable_status()->add_conditions() =
      MakeCondition("NodesRemoved", "False", "Pending", "Nodes are being removed.");
  Json was = Desired(MakeObject(1), &pool);
  was["conditions"].push_back({{"type", "Foreign"}, {"status", "True"}});
  const NodePoolObject object = MakeObject(2, was);
  const auto gone = DesiredStatus({.object = &object, .gone = true}, Now());
  ASSERT_TRUE(gone);
  EXPECT_EQ(Find(*gone, "NodesRemoved"), Json({{"type", "NodesRemoved"},
                                               {"status", "True"},
                                               {"reason", "Complete"},
                                               {"message", "All Nodes have been removed."},
                                               {"observedGeneration", 2},
                                               {"lastTransitionTime", kLater}}));
  EXPECT_THAT(Types(*gone), ElementsAre("Validated", "Capacity", "Quota", "AtTarget",
                                        "NodeReconfigurationRequired", "NodesRemoved"));
  EXPECT_EQ(Find(*gone, "Quota"), Find(was, "Quota"));
  EXPECT_EQ((*gone)["currentNodes"], 0);
  EXPECT_EQ((*gone)["nodeProfile"], "np-0123456789ab");
  EXPECT_FALSE(StatusMatches(was, *gone));
  EXPECT_TRUE(StatusMatches(Merge(was, was, *gone), *gone));
  // Once it stands there it is not said again, however late it is.
  const NodePoolObject told = MakeObject(2, Merge(was, was, *gone));
  EXPECT_TRUE(StatusMatches(
      told.status, *DesiredStatus({.object = &told, .gone = true}, Now() + absl::Hours(1))));
}

TEST(Gone, SaysSoOfOneThatNeverCameToMuster) {
  const NodePoolObject object = MakeObject(1);
  const auto gone = DesiredStatus({.object = &object, .gone = true}, Now());
  ASSERT_TRUE(gone);
  EXPECT_THAT(Types(*gone), ElementsAre("NodesRemoved"));
}

TEST(SpecOf, TakesTheCrdsSpec) {
  const auto spec = SpecOf(Json::parse(R"({
    "computeClass": "spot", "instanceType": "gd-8xa100-i128", "targetNodes": 2, "minNodes": 1,
    "maxNodes": 3, "nodeLabels": {"a": "b"}, "nodeAnnotations": {"c": "d"},
    "nodeTaints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
    "image": {"name": "ncore", "kernel": "", "releaseTrain": "stable"}, "gpu": {"version": "570"},
    "autoscaling": true, "priority": -5, "gang": true,
    "description": "training",
    "lifecycle": {"scaleDownStrategy": "PreferIdle", "disableUnhealthyNodeEviction": false},
    "nodeConfigurationUpdateStrategy": {"type": "Manual"},
    "nodeAffinity": {"terms": [{"expressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]},
    "ofTheFuture": {"x": 1}})"));
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->compute_class(), "spot");
  EXPECT_EQ(spec->instance_type(), "gd-8xa100-i128");
  EXPECT_EQ(spec->target_nodes(), 2);
  EXPECT_EQ(spec->max_nodes(), 3);
  EXPECT_EQ(spec->node_labels().at("a"), "b");
  EXPECT_EQ(spec->node_taints(0).effect(), "NoSchedule");
  EXPECT_EQ(spec->image().release_train(), "stable");
  EXPECT_EQ(spec->gpu().version(), "570");
  EXPECT_EQ(spec->lifecycle().scale_down_strategy(), "PreferIdle");
  EXPECT_TRUE(spec->lifecycle().has_disable_unhealthy_node_eviction());
  EXPECT_EQ(spec->priority(), -5);
  EXPECT_EQ(spec->description(), "training");
  EXPECT_EQ(spec->node_affinity().terms(0).expressions(0).values(0), "v");
}

TEST(SpecOf, AnUnsetTargetStaysUnset) {
  const auto spec = SpecOf(Json{{"instanceType", "x"}});
  ASSERT_TRUE(spec.ok());
  EXPECT_FALSE(spec->has_target_nodes());
}

TEST(SpecOf, NamesAFieldOfAnotherType) {
  const auto spec = SpecOf(Json{{"targetNodes", "many"}});
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FaultsOf(spec.status()),
            "spec.targetNodes: invalid value \"many\" for type TYPE_INT64");
  EXPECT_THAT(FaultsOf(SpecOf(Json{{"image", "ncore"}}).status()), StartsWith("spec.image: "));
  EXPECT_THAT(FaultsOf(SpecOf(Json{{"image", {{"releaseTrain", {1}}}}}).status()),
              StartsWith("spec.image.releaseTrain: "));
}

TEST(KubernetesTime, IsRfc3339InWholeSeconds) {
  EXPECT_EQ(KubernetesTime(Stamp(kThen, 999'999'999)), kTime);
  EXPECT_EQ(KubernetesTime(google::protobuf::Timestamp()), "");
  EXPECT_EQ(KubernetesTime(Then() + absl::Milliseconds(1500)), "2025-05-30T17:36:01Z");
}

TEST(Status, ShowsWhatTheBrakeHolds) {
  const v1::NodePool pool = HealthyPool();
  const NodePoolObject object = MakeObject(1);
  const StatusFacts facts{.object = &object, .pool = &pool, .held = "12 Nodes are held."};
  const Json held = *DesiredStatus(facts, Now());
  EXPECT_EQ(Find(held, "RemovalsHeld"), Json({{"type", "RemovalsHeld"},
                                              {"status", "True"},
                                              {"reason", "MoreThanAFew"},
                                              {"message", "12 Nodes are held."},
                                              {"observedGeneration", 1},
                                              {"lastTransitionTime", kLater}}));
  EXPECT_FALSE(StatusMatches(held, Desired(object, &pool)))
      << "it goes when nothing is held any more";
  const NodePoolObject shown = MakeObject(1, held);
  const auto gone = DesiredStatus({.object = &shown, .gone = true}, Now());
  EXPECT_TRUE(Find(*gone, "RemovalsHeld").is_null());
}

}  // namespace
}  // namespace muster::kubernetes
