#include <grpcpp/grpcpp.h>

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "muster/configuration/v1/configuration_service.grpc.pb.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

constexpr char kPromote[] = "compute.coreweave.com/promote-configuration";
constexpr char kRollback[] = "compute.coreweave.com/rollback-configuration";

// An instance type of which the schema of NodePools knows nothing: two Nodes a rack.
constexpr char kPairs[] = R"(
apiVersion: muster/v1
kind: InstanceType
metadata: {name: pair-2x}
spec: {gpus: 2, gpuModel: GB200, vcpus: 72, memoryKib: 468750000,
  ephemeralStorageKib: 7499362648, architecture: arm64, maxPods: 110,
  superchip: true, nodesPerRack: 2, fabric: true}
---
apiVersion: muster/v1
kind: Zone
metadata: {name: RNO2A}
spec:
  access: general
  instanceTypes: [gd-8xa100-i128, gd-8xh100ib-i128, gd-8xl40-i128, gd-1xgh200, cd-gp-i96-icelake,
    cd-gp-a192-genoa, cd-gp-l-a192-genoa, turin-gp-l, pair-2x]
---
apiVersion: muster/v1
kind: MachineSet
metadata: {name: rno2a-pairs}
spec: {zone: RNO2A, instanceType: pair-2x, count: 8, fabric: rno2a-nvl-2, racks: 4}
---
apiVersion: muster/v1
kind: Quota
metadata: {organization: acme}
spec: {zone: RNO2A, instanceType: pair-2x, computeClass: default, limit: 8}
)";

class NodePoolsTest : public AdapterTest<NodePoolsTest> {
 protected:
  void Annotate(const std::string& pool, const Json& annotations) {
    stack().PatchNodePool(pool, {{"metadata", {{"annotations", annotations}}}});
  }
  // Until nothing is asked for any more, and that profile is the active one.
  bool AwaitProfile(const std::string& pool, const std::string& profile) {
    return stack().AwaitNodePool(pool, [&](const Json& object) {
      return AnnotationOf(object, kPromote).empty() && AnnotationOf(object, kRollback).empty() &&
             object["status"].value("nodeProfile", "") == profile;
    });
  }
  configuration::v1::PoolConfiguration ConfigurationOf(const std::string& uid) {
    grpc::ClientContext context;
    configuration::v1::GetPoolConfigurationRequest request;
    request.set_name(absl::StrCat("poolConfigurations/", uid));
    configuration::v1::PoolConfiguration pool;
    const auto stub = configuration::v1::ConfigurationService::NewStub(stack().muster().channel());
    const grpc::Status status = stub->GetPoolConfiguration(&context, request, &pool);
    if (!status.ok()) throw std::runtime_error(status.error_message());
    return pool;
  }
  // Publishes a driver; the profile that is pending for the pool then.
  std::string Publish(const std::string& pool, const std::string& version) {
    Ctl({"publish", "release", "stable~gpu-driver~" + version});
    std::string profile;
    EXPECT_TRUE(stack().AwaitNodePool(pool, [&](const Json& object) {
      const Json pending = object["status"].value("pendingNodeConfiguration", Json::object());
      profile = pending.value("nodeProfile", "");
      return pending.dump().find(version) != std::string::npos;
    }));
    return profile;
  }
};

// "A new Node Pool in a healthy state looks like this when described", and what its Nodes carry.
TEST_F(NodePoolsTest, ALifeFromCreationToTheEnd) {
  const std::string name = Name();
  const std::string uid = CreateHealthyPool(name);
  const Json pool = stack().GetNodePool(name);
  EXPECT_EQ(ConditionOf(pool, "Validated")["message"], "NodePool configuration is valid.");
  EXPECT_EQ(ConditionOf(pool, "Quota")["message"], "NodePool is within instance type quota.");
  EXPECT_EQ(ConditionOf(pool, "AtTarget")["message"],
            "NodePool has reached its target node count.");
  EXPECT_EQ(pool["status"]["inProgress"], 0);
  EXPECT_EQ(pool["status"]["queuedNodes"], 0);

  const Json node = NodesOf(uid).at(0);
  EXPECT_EQ(LabelOf(node, "compute.coreweave.com/node-pool"), name);
  EXPECT_EQ(LabelOf(node, "node.coreweave.cloud/state"), "production");
  EXPECT_EQ(ConditionOf(node, "CWRegistered")["status"], "True");
  // A real server keeps a taint of its own on Nodes that no controller looks after.
  EXPECT_THAT(node["spec"]["taints"],
              Contains(Json{{"key", "is_gpu"}, {"value", "true"}, {"effect", "PreferNoSchedule"}}));

  PatchSpec(name, {{"targetNodes", 3}});
  ASSERT_TRUE(stack().AwaitHealthy(name, 3));
  PatchSpec(name, {{"targetNodes", 2}});
  ASSERT_TRUE(stack().AwaitHealthy(name, 2));
  EXPECT_EQ(NodesOf(uid).size(), 2u);

  stack().DeleteNodePool(name);
  bool complete = false;
  EXPECT_TRUE(stack().AwaitNodePool(name, [&](const Json& object) {
    complete |= ReasonOf(object, "NodesRemoved") == "Complete";
    return object.is_null();
  }));
  EXPECT_TRUE(complete);
  EXPECT_TRUE(AwaitNodeNames(uid, {}));
  for (const char* reason : {"CWNodePoolCreated", "CWNodeAssigned", "CWNodeRegistered",
                             "CWNodePoolScaledUp", "CWNodePoolScaledDown"})
    EXPECT_TRUE(AwaitEvent(name, reason)) << reason;
  EXPECT_TRUE(AwaitEvent(node["metadata"]["name"], "CWNodeRegistered"));
}

// Its uid does not come back, so an object that stayed would ask for Nodes in vain for ever.
TEST_F(NodePoolsTest, OneThatIsDeletedInMusterTakesItsObjectWithIt) {
  const std::string name = Name();
  const std::string uid = CreateHealthyPool(name);
  Ctl({"delete", "nodepool", name});
  EXPECT_TRUE(stack().AwaitNodePool(name, [](const Json& object) { return object.is_null(); }));
  EXPECT_TRUE(AwaitNodeNames(uid, {}));
  // One without Nodes is gone in a moment, perhaps before anybody saw it go.
  CreatePool(name, {{"targetNodes", 0}});
  ASSERT_TRUE(AwaitReason(name, "Validated", "Valid"));
  Ctl({"delete", "nodepool", name});
  EXPECT_TRUE(stack().AwaitNodePool(name, [](const Json& object) { return object.is_null(); }));
  // The name is free for another object.
  CreateHealthyPool(name);
  stack().DeleteNodePool(name);
  EXPECT_TRUE(stack().AwaitNodePool(name, [](const Json& object) { return object.is_null(); }));
}

TEST_F(NodePoolsTest, ASpecThatMusterRefusesShowsEveryFaultAndIsHealedByTheNextEdit) {
  ApplyToMuster(kPairs);
  const std::string name = Name();
  const std::string uid =
      CreateHealthyPool(name, {{"instanceType", "pair-2x"}, {"targetNodes", 2}});
  const std::vector<std::string> nodes = NodeNamesOf(uid);

  PatchSpec(name, {{"autoscaling", true}, {"maxNodes", 4}, {"targetNodes", 3}});
  ASSERT_TRUE(AwaitReason(name, "Validated", "Invalid"));
  Json pool = stack().GetNodePool(name);
  EXPECT_EQ(ConditionOf(pool, "Validated")["status"], "False");
  const std::string message = ConditionOf(pool, "Validated")["message"];
  EXPECT_THAT(message, HasSubstr("spec.autoscaling: is not available for pair-2x"));
  EXPECT_THAT(message, HasSubstr("spec.targetNodes: must be a multiple of 2 for pair-2x"));
  EXPECT_EQ(pool["status"]["currentNodes"], 2);
  EXPECT_EQ(NodeNamesOf(uid), nodes);
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNodesRequestFailed"));

  PatchSpec(name, {{"autoscaling", false}, {"targetNodes", 4}});
  ASSERT_TRUE(stack().AwaitHealthy(name, 4));
  EXPECT_THAT(NodeNamesOf(uid), IsSupersetOf(nodes));
}

TEST_F(NodePoolsTest, AnUnknownInstanceTypeIsInvalid) {
  const std::string name = Name();
  CreatePool(name, {{"instanceType", "gd-of-the-future"}});
  ASSERT_TRUE(AwaitReason(name, "Validated", "Invalid"));
  EXPECT_THAT(ConditionOf(stack().GetNodePool(name), "Validated")["message"],
              HasSubstr("gd-of-the-future"));
  EXPECT_TRUE(AwaitEvent(name, "CWInvalidInstanceType"));
}

TEST_F(NodePoolsTest, MoreThanTheQuotaIsNotRequested) {
  const std::string name = Name();
  CreatePool(name, {{"instanceType", "cd-gp-i96-icelake"}, {"targetNodes", 5}});
  ASSERT_TRUE(AwaitReason(name, "Quota", "Over"));
  const Json pool = stack().GetNodePool(name);
  EXPECT_EQ(ConditionOf(pool, "Quota")["message"],
            "NodePool targetNodes pushes you over quota for cd-gp-i96-icelake in RNO2A.");
  EXPECT_EQ(pool["status"]["currentNodes"], 0);
  EXPECT_TRUE(AwaitEvent(name, "CWOverQuota"));
  PatchSpec(name, {{"targetNodes", 1}});
  EXPECT_TRUE(stack().AwaitHealthy(name, 1));
}

TEST_F(NodePoolsTest, APoolThatWasMadeByMustersOwnApiIsNotTakenOver) {
  const std::string name = Name();
  ApplyToMuster(PoolObject(name).dump());
  CreatePool(name, {{"targetNodes", 2}});
  ASSERT_TRUE(AwaitReason(name, "Validated", "Invalid"));
  const Json pool = stack().GetNodePool(name);
  EXPECT_THAT(ConditionOf(pool, "Validated")["message"], HasSubstr("not made through Kubernetes"));
  EXPECT_FALSE(pool["metadata"].contains("finalizers"));
  EXPECT_EQ(MusterPool(name).spec().target_nodes(), 1);
  Ctl({"delete", "nodepool", name, "--wait=false"});
  EXPECT_TRUE(stack().AwaitHealthy(name, 2)) << "once that pool is gone, this one is made";
}

// A cluster's etcd is restored: the object is of an earlier time than what Muster took of it.
TEST_F(NodePoolsTest, ASpecBelowWhatMusterTookSaysSoAndIsTakenOncePastIt) {
  const std::string name = Name();
  CreateHealthyPool(name);
  lifecycle::v1::ApplyNodePoolRequest later;
  *later.mutable_node_pool() = MusterPool(name);
  const int64_t generation = later.node_pool().object_generation();
  later.mutable_node_pool()->set_object_generation(generation + 2);
  grpc::ClientContext context;
  lifecycle::v1::NodePool applied;
  const auto stub = lifecycle::v1::LifecycleService::NewStub(stack().muster().channel());
  ASSERT_TRUE(stub->ApplyNodePool(&context, later, &applied).ok());
  PatchSpec(name, {{"nodeLabels", {{"example.com/team", "a"}}}});
  ASSERT_TRUE(AwaitReason(name, "Validated", "InternalError"));
  EXPECT_THAT(ConditionOf(stack().GetNodePool(name), "Validated")["message"],
              HasSubstr("restored to an earlier time"));
  EXPECT_EQ(MusterPool(name).spec().node_labels_size(), 0);
  PatchSpec(name, {{"nodeLabels", {{"example.com/team", "b"}}}});
  PatchSpec(name, {{"nodeLabels", {{"example.com/team", "c"}}}});
  EXPECT_TRUE(stack().AwaitHealthy(name, 1));
  EXPECT_EQ(MusterPool(name).spec().node_labels().at("example.com/team"), "c");
}

TEST_F(NodePoolsTest, WithItsFinalizerRemovedByForceAPoolGoesAndItsNameIsFree) {
  const std::string name = Name();
  const std::string former = CreateHealthyPool(name, {{"targetNodes", 2}});
  const std::string other = Name();
  const std::string gone = CreateHealthyPool(other);
  stack().KillAdapter();
  for (const std::string& pool : {name, other}) {
    stack().PatchNodePool(pool, {{"metadata", {{"finalizers", nullptr}}}});
    stack().DeleteNodePool(pool);
    ASSERT_TRUE(stack().GetNodePool(pool).is_null());
  }
  CreatePool(name);
  stack().StartAdapter();
  ASSERT_TRUE(stack().AwaitHealthy(name, 1));
  EXPECT_NE(stack().GetNodePool(name)["metadata"]["uid"], former);
  EXPECT_TRUE(AwaitNodeNames(former, {}));
  EXPECT_TRUE(AwaitNodeNames(gone, {}));
}

// A tool's finalizer keeps the object, and ours is gone.
TEST_F(NodePoolsTest, OneThatSomebodyElseHoldsIsDeletedWithoutOurFinalizerToo) {
  const std::string name = Name();
  const std::string uid = CreateHealthyPool(name);
  stack().KillAdapter();
  stack().PatchNodePool(name, {{"metadata", {{"finalizers", {"example.com/other"}}}}});
  stack().DeleteNodePool(name);
  stack().StartAdapter();
  EXPECT_TRUE(AwaitNodeNames(uid, {}));
  EXPECT_TRUE(stack().AwaitNodePool(
      name, [](const Json& object) { return ReasonOf(object, "NodesRemoved") == "Complete"; }));
  stack().PatchNodePool(name, {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_TRUE(stack().AwaitNodePool(name, [](const Json& object) { return object.is_null(); }));
}

TEST_F(NodePoolsTest, ADeletedPoolDrainsItsNodesFirst) {
  const std::string name = Name();
  const std::string uid = CreateHealthyPool(name, {{"targetNodes", 2}});
  const std::string pod = Name("work");
  CreatePod(pod, NodeNamesOf(uid).at(0));
  stack().DeleteNodePool(name);
  bool pending = false;
  EXPECT_TRUE(stack().AwaitNodePool(name, [&](const Json& object) {
    pending |= ReasonOf(object, "NodesRemoved") == "Pending" &&
               ReasonOf(object, "AtTarget") == "PendingDelete";
    return object.is_null();
  }));
  EXPECT_TRUE(pending);
  EXPECT_TRUE(AwaitPod(pod, [](const Json& object) { return object.is_null(); }));
  EXPECT_TRUE(AwaitNodeNames(uid, {}));
  EXPECT_TRUE(AwaitEvent(name, "CWDrainNode"));
}

TEST_F(NodePoolsTest, ItsScaleIsItsTarget) {
  const std::string name = Name();
  CreateHealthyPool(name);
  const std::string path = absl::StrCat(kNodePoolsPath, "/", name, "/scale");
  const auto scaled =
      stack().client().Patch(kubernetes::PatchType::kMerge, path, {{"spec", {{"replicas", 2}}}});
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  ASSERT_TRUE(stack().AwaitHealthy(name, 2));
  const auto scale = stack().client().Get(path);
  ASSERT_TRUE(scale.ok()) << scale.status();
  EXPECT_EQ((*scale)["spec"]["replicas"], 2);
  EXPECT_EQ((*scale)["status"]["replicas"], 2);
}

TEST_F(NodePoolsTest, AnnotationsPromoteAndRollBackByWordAndByProfile) {
  const std::string name = Name();
  CreateHealthyPool(name);
  const std::string first = stack().GetNodePool(name)["status"]["nodeProfile"];
  const std::string second = Publish(name, "570.133.20");
  Annotate(name, {{kPromote, "pending"}});
  ASSERT_TRUE(AwaitProfile(name, second)) << stack().GetNodePool(name).dump(2);
  ASSERT_TRUE(AwaitReason(name, "NodeReconfigurationRequired", "StagedNodeConfig"));
  Annotate(name, {{kRollback, "previous"}});
  ASSERT_TRUE(AwaitProfile(name, first)) << stack().GetNodePool(name).dump(2);
  const std::string third = Publish(name, "570.148.08");
  Annotate(name, {{kPromote, third}});
  ASSERT_TRUE(AwaitProfile(name, third)) << stack().GetNodePool(name).dump(2);
  Annotate(name, {{kRollback, first}});
  ASSERT_TRUE(AwaitProfile(name, first)) << stack().GetNodePool(name).dump(2);
  // The one that was active last was withdrawn since.
  Ctl({"withdraw", "release", "stable~gpu-driver~570.148.08"});
  Annotate(name, {{kRollback, "previous"}});
  ASSERT_TRUE(AwaitProfile(name, second)) << stack().GetNodePool(name).dump(2);
  EXPECT_TRUE(AwaitEvent(name, "CWManualUpgradeTrigger"));
  EXPECT_TRUE(AwaitEvent(name, "CWManualRollbackTrigger"));
}

// The annotation could not be removed; what somebody else ordered meanwhile stands.
TEST_F(NodePoolsTest, AnOrderIsCarriedOutOnce) {
  FakeApiServer* fake = stack().server().fake_or_null();
  if (fake == nullptr) GTEST_SKIP() << "a real API server does not refuse on command";
  const std::string name = Name();
  const std::string uid = CreateHealthyPool(name);
  const std::string first = stack().GetNodePool(name)["status"]["nodeProfile"];
  const std::string second = Publish(name, "570.158.01");
  Ctl({"promote", "nodepool", name});
  ASSERT_TRUE(AwaitProfile(name, second)) << stack().GetNodePool(name).dump(2);

  const std::string path = absl::StrCat(kNodePoolsPath, "/", name);
  fake->FailNext({.verb = "PATCH", .path_prefix = path, .count = 1'000'000});
  Json object = stack().GetNodePool(name);
  object["metadata"]["annotations"][kRollback] = first;
  const auto annotated = stack().client().Replace(path, object);
  ASSERT_TRUE(annotated.ok()) << annotated.status();
  Until([&] { return ConfigurationOf(uid).active() == first; }, "the rollback");
  Ctl({"rollback", "nodepool", name, second});
  fake->FailNoMore();
  EXPECT_TRUE(AwaitProfile(name, second)) << stack().GetNodePool(name).dump(2);
  EXPECT_EQ(ConfigurationOf(uid).orders_size(), 3);
  EXPECT_EQ(ConfigurationOf(uid).active(), second);
  // The same once more is another order.
  Annotate(name, {{kRollback, first}});
  EXPECT_TRUE(AwaitProfile(name, first)) << stack().GetNodePool(name).dump(2);
}

TEST_F(NodePoolsTest, WhatCannotBePromotedOrRolledBackIsToldAndForgotten) {
  const std::string name = Name();
  CreateHealthyPool(name);
  const std::string profile = stack().GetNodePool(name)["status"]["nodeProfile"];
  Annotate(name, {{kPromote, "pending"}});
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNoPendingConfiguration"));
  EXPECT_TRUE(AwaitProfile(name, profile));
  Annotate(name, {{kRollback, "previous"}});
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNodeConfigRollbackFailed"));
  EXPECT_TRUE(AwaitProfile(name, profile));
  Annotate(name, {{kPromote, "pending"}, {kRollback, "previous"}});
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNodeConfigUpdateConflict"));
  EXPECT_TRUE(AwaitProfile(name, profile));
  // Muster tells it: once more is counted, not told beside it.
  Annotate(name, {{kPromote, "pending"}, {kRollback, "previous"}});
  EXPECT_TRUE(stack().Await(kEventsPath, [&](const AdapterStack::Objects& events) {
    std::vector<int64_t> counts;
    for (const auto& [key, event] : events) {
      if (event.value(Json::json_pointer("/regarding/name"), "") == name &&
          event.value("reason", "") == "CWNodePoolNodeConfigUpdateConflict")
        counts.push_back(event.value(Json::json_pointer("/series/count"), int64_t{1}));
    }
    return counts == std::vector<int64_t>{2};
  }));
  EXPECT_TRUE(AwaitProfile(name, profile));
}

TEST_F(NodePoolsTest, AnOrderOfNothingIsToldAndForgotten) {
  const std::string name = Name();
  CreateHealthyPool(name);
  const std::string profile = stack().GetNodePool(name)["status"]["nodeProfile"];
  Annotate(name, {{kRollback, ""}});
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNodeConfigRollbackFailed"));
  EXPECT_TRUE(AwaitProfile(name, profile));
  Annotate(name, {{kPromote, ""}});
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNoPendingConfiguration"));
  EXPECT_TRUE(AwaitProfile(name, profile));
}

// "the adapter removes them once they are carried out or refused"
TEST_F(NodePoolsTest, OrdersOfAPoolThatNeverWasValidAreRefused) {
  const std::string name = Name();
  Json pool = AdapterStack::ExampleNodePool();
  pool["metadata"]["name"] = name;
  pool["spec"]["instanceType"] = "gd-none";
  pool["metadata"]["annotations"] = {{kPromote, "pending"}, {kRollback, "previous"}};
  stack().Create(pool);
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNoPendingConfiguration"));
  EXPECT_TRUE(AwaitEvent(name, "CWNodePoolNodeConfigRollbackFailed"));
  EXPECT_TRUE(stack().AwaitNodePool(name, [&](const Json& object) {
    return AnnotationOf(object, kPromote).empty() && AnnotationOf(object, kRollback).empty();
  }));
}

// What a pool of one Node shows under --condition_edition.
class EditionTest : public ::testing::Test {
 protected:
  static constexpr char kPool[] = "example-nodepool";

  explicit EditionTest(const std::string& edition)
      : stack_({.adapter_flags = {"--condition_edition=" + edition}}) {
    stack_.Create(AdapterStack::ExampleNodePool());
    EXPECT_TRUE(stack_.AwaitNodePool(kPool,
                                     [&](const Json& object) {
                                       types_.clear();
                                       for (const auto& [type, reason] : kHealthy) {
                                         if (ReasonOf(object, type) != reason) return false;
                                       }
                                       for (const Json& condition : object["status"]["conditions"])
                                         types_.push_back(condition["type"]);
                                       return true;
                                     }))
        << stack_.GetNodePool(kPool).dump(2) << stack_.LogEnds();
  }
  bool AwaitEvent(const std::string& reason) {
    return stack_.Await(kEventsPath, [&](const AdapterStack::Objects& events) {
      return std::any_of(events.begin(), events.end(), [&](const auto& event) {
        return event.second.value("reason", "") == reason;
      });
    });
  }

  static constexpr std::pair<const char*, const char*> kHealthy[] = {
      {"Accepted", "Accepted"},
      {"SufficientCapacity", "Sufficient"},
      {"Allocated", "Complete"},
      {"MetadataSynced", "Synced"}};
  AdapterStack stack_;
  std::vector<std::string> types_;
};

class FirstEditionTest : public EditionTest {
 protected:
  FirstEditionTest() : EditionTest("first") {}
};

TEST_F(FirstEditionTest, ShowsItsOwnNamesOnly) {
  EXPECT_THAT(types_, UnorderedElementsAre("Accepted", "SufficientCapacity", "Allocated",
                                           "MetadataSynced"));
  EXPECT_TRUE(AwaitEvent("NodePoolNodesAllocated"));
  const std::string node = stack_.Nodes().at(0)["metadata"]["name"];
  // Taken apart and put together again.
  stack_.PatchNode(node, {{"metadata", {{"labels", {{"node.coreweave.cloud/state", "broken"}}}}}});
  EXPECT_TRUE(stack_.Await(kNodesPath, [&](const AdapterStack::Objects& nodes) {
    return LabelOf(nodes.at(node), "node.coreweave.cloud/state") == "production";
  }));
  stack_.DeleteNodePool(kPool);
  bool complete = false;
  EXPECT_TRUE(stack_.AwaitNodePool(kPool, [&](const Json& object) {
    complete |= ReasonOf(object, "NodesRemoved") == "Complete";
    return object.is_null();
  }));
  EXPECT_TRUE(complete);
}

class BothEditionsTest : public EditionTest {
 protected:
  BothEditionsTest() : EditionTest("both") {}
};

TEST_F(BothEditionsTest, ShowConditionsOfBothAndEventsOfTheCurrent) {
  EXPECT_THAT(types_, IsSupersetOf({"Accepted", "SufficientCapacity", "Allocated", "MetadataSynced",
                                    "Validated", "Capacity", "Quota", "AtTarget",
                                    "NodeReconfigurationRequired"}));
  EXPECT_TRUE(AwaitEvent("CWNodePoolScaledUp"));
  for (const Json& event : stack_.Events()) {
    if (event.value("reportingController", "") != "compute.coreweave.com/muster") continue;
    const std::string reason = event["reason"];
    EXPECT_EQ(reason.compare(0, 2, "CW"), 0) << reason;
  }
}

}  // namespace
}  // namespace muster::testing
