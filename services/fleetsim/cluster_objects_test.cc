#include "services/fleetsim/cluster_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/fleetsim/testing/nodes.h"

namespace muster::fleetsim {
namespace {

using ::testing::IsEmpty;

TEST(ClusterObjectsTest, AQuantityIsTheSameInEveryForm) {
  const Hardware arm = {.cpus = 144,
                        .memory_kib = 937'500'000,
                        .storage_kib = 30'000'000'000,
                        .gpus = 4,
                        .pods = 2000,
                        .architecture = "arm64"};
  const Json resources = ResourcesOf(arm);
  EXPECT_TRUE(HasResources(resources, arm));
  // As a server writes them.
  Json there = resources;
  there["ephemeral-storage"] = "29296875Mi";
  there["pods"] = "2k";
  EXPECT_TRUE(HasResources(there, arm));
  there["memory"] = "960000M";
  EXPECT_TRUE(HasResources(there, arm)) << "that many bytes";
  for (const char* other : {"937500000", "937500000Mi", "937500001Ki", "1Ei", "x", "", "Ki"}) {
    there["memory"] = other;
    EXPECT_FALSE(HasResources(there, arm)) << other;
  }
  there.erase("memory");
  EXPECT_FALSE(HasResources(there, arm));
  EXPECT_FALSE(HasResources(Json(), arm));
  EXPECT_FALSE(ResourcesOf({.cpus = 1, .pods = 1}).contains("nvidia.com/gpu"));
}

TEST(ClusterObjectsTest, ALeaseIsThatOfAKubelet) {
  const Json lease = NodeLease(kMachine, "u-1", kStart + absl::Microseconds(1));
  EXPECT_EQ(LeasePath(kMachine),
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/g100000");
  EXPECT_EQ(lease["metadata"]["name"], kMachine);
  EXPECT_EQ(lease["metadata"]["ownerReferences"],
            Json::parse(R"([{"apiVersion": "v1", "kind": "Node", "name": "g100000",
                             "uid": "u-1"}])"));
  EXPECT_EQ(lease["spec"], Json::parse(R"({"holderIdentity": "g100000", "leaseDurationSeconds": 40,
                                           "renewTime": "2025-06-15T15:06:40.000001Z"})"));
}

TEST(ClusterObjectsTest, EveryClassOfWorkHasItsLabel) {
  const auto labels = [](Work::Class kind) {
    return WorkPod(kMachine, {.kind = kind}, 0, absl::ZeroDuration())["metadata"]["labels"];
  };
  EXPECT_EQ(labels(Work::Class::kInterruptible)["qos.coreweave.cloud/interruptable"], "true");
  EXPECT_EQ(labels(Work::Class::kGuarded).size() + 1, labels(Work::Class::kGraceful).size());
}

TEST(ClusterObjectsTest, WhatMakesNoSenseReadsAsEmpty) {
  const Json odd = Json::parse(
      R"({"metadata": [], "spec": {"taints": 3}, "status": {"conditions": {"type": "Ready"}}})");
  EXPECT_EQ(ReadNode(odd).name, "");
  EXPECT_THAT(ReadNode(odd).taints, IsEmpty());
  EXPECT_EQ(ReadPod(odd).node, "");
  EXPECT_FALSE(ReadPod(Json("text")).deleting);
}

}  // namespace
}  // namespace muster::fleetsim
