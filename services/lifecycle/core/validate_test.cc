#include "services/lifecycle/core/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/testing/decide.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "field: description" of each fault.
std::vector<std::string> FaultsOf(const Spec& spec, std::optional<int64_t> target = 1,
                                  const Spec* before = nullptr, const TypeFacts* type = nullptr) {
  std::vector<std::string> lines;
  muster::error::Faults faults;
  ValidateSpec(spec, target, faults);
  ValidateFit(spec, target, before, type, faults);
  for (const auto& fault : faults) {
    lines.push_back(fault.field + ": " + fault.description);
  }
  return lines;
}

struct SpecCase {
  const char* name;
  std::function<void(Spec&)> change;
  std::vector<std::string> faults;
};

constexpr char kReserved[] =
    ": Namespaces `*.coreweave.cloud` or `*.coreweave.com` are not allowed.";

// Characters of two bytes each.
std::string Umlauts(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "\xc3\xbc";
  return text;
}

TEST(ValidateSpec, Table) {
  const std::vector<SpecCase> cases = {
      {"good", [](Spec&) {}, {}},
      {"class",
       [](Spec& s) { s.compute_class = "Spot"; },
       {"spec.computeClass: must be `default` or `spot`"}},
      {"no type", [](Spec& s) { s.instance_type = ""; }, {"spec.instanceType: is required"}},
      {"odd type",
       [](Spec& s) { s.instance_type = "a b"; },
       {"spec.instanceType: must be 1 to 63 letters, digits, `-`, `_`, `.`, first and last a "
        "letter or digit"}},
      {"negative",
       [](Spec& s) { s.min_nodes = -1; },
       {"spec.minNodes: must be between 0 and 100000"}},
      {"huge",
       [](Spec& s) { s.max_nodes = std::numeric_limits<int64_t>::max(); },
       {"spec.maxNodes: must be between 0 and 100000"}},
      {"min over max",
       [](Spec& s) {
         s.min_nodes = 3;
         s.max_nodes = 2;
       },
       {"spec.minNodes: must not be greater than spec.maxNodes"}},
      {"min without max",
       [](Spec& s) { s.min_nodes = 3; },
       {"spec.minNodes: must not be greater than spec.maxNodes"}},
      {"autoscaling unbounded",
       [](Spec& s) { s.autoscaling = true; },
       {"spec.maxNodes: is required with spec.autoscaling",
        "spec.targetNodes: must be between spec.minNodes (0) and spec.maxNodes (0) with "
        "spec.autoscaling"}},
      {"autoscaling",
       [](Spec& s) {
         s.autoscaling = true;
         s.max_nodes = 1;
       },
       {}},
      {"label key",
       [](Spec& s) {
         s.node_labels = {{"-x", "v"}};
       },
       {"spec.nodeLabels[-x]: is not a valid Kubernetes label key"}},
      {"long prefixes",
       [](Spec& s) {
         s.node_labels = {{std::string(64, 'a') + "/x", ""}};
         s.node_annotations = {{std::string(240, 'a') + ".com/x", ""}};
         s.node_taints = {{std::string(253, 'a') + "/x", "", "NoSchedule"}};
       },
       {}},
      {"too long a prefix",
       [](Spec& s) {
         s.node_taints = {{std::string(254, 'a') + "/x", "", "NoSchedule"}};
       },
       {"spec.nodeTaints[0].key: is not a valid Kubernetes label key"}},
      {"label value",
       [](Spec& s) {
         s.node_labels = {{"x", "a b"}};
       },
       {"spec.nodeLabels[x]: has a value that is not a valid Kubernetes label value"}},
      {"reserved label",
       [](Spec& s) {
         s.node_labels = {{"node.coreweave.cloud/state", "x"}};
       },
       {std::string("spec.nodeLabels[node.coreweave.cloud/state]") + kReserved}},
      {"reserved domain itself",
       [](Spec& s) {
         s.node_labels = {{"coreweave.com/x", "x"}};
       },
       {std::string("spec.nodeLabels[coreweave.com/x]") + kReserved}},
      {"looks reserved",
       [](Spec& s) {
         s.node_labels = {{"notcoreweave.com/x", "x"}};
       },
       {}},
      {"allowed",
       [](Spec& s) {
         s.node_labels = {{"cks.coreweave.cloud/system-critical", "true"}};
       },
       {}},
      {"annotation",
       [](Spec& s) {
         s.node_annotations = {{"a/b/c", "x"}};
       },
       {"spec.nodeAnnotations[a/b/c]: is not a valid Kubernetes annotation key"}},
      {"free annotation",
       [](Spec& s) {
         s.node_annotations = {{"x.example.com/A", "any text"}};
       },
       {}},
      {"reserved annotation",
       [](Spec& s) {
         s.node_annotations = {{"X.CoreWeave.com/A", "any text"}};
       },
       {"spec.nodeAnnotations[X.CoreWeave.com/A]: Namespaces `*.coreweave.cloud` or "
        "`*.coreweave.com` are not allowed."}},
      {"taints",
       [](Spec& s) {
         s.node_taints = {{"a", "v", "NoSchedule"},
                          {"a", "w", "NoSchedule"},
                          {"x.coreweave.com/y", "", "Never"}};
       },
       {"spec.nodeTaints[1]: has the same key and effect as another taint",
        std::string("spec.nodeTaints[2].key") + kReserved,
        "spec.nodeTaints[2].effect: must be `NoSchedule`, `PreferNoSchedule` or `NoExecute`"}},
      {"image name and kernel",
       [](Spec& s) {
         s.image = Image{"6.2", "i", "latest"};
       },
       {"spec.image.kernel: must be empty when spec.image.name is set",
        "spec.image.releaseTrain: must be `stable` when spec.image.name is set"}},
      {"train",
       [](Spec& s) {
         s.image = Image{"", "", "beta"};
       },
       {"spec.image.releaseTrain: must be `stable` or `latest`"}},
      {"gpu",
       [](Spec& s) { s.gpu = Gpu{"570.86"}; },
       {"spec.gpu.version: must be a bare major version such as `570`"}},
      {"image wins over gpu",
       [](Spec& s) {
         s.image = Image{};
         s.gpu = Gpu{"570"};
       },
       {}},
      {"words",
       [](Spec& s) {
         s.scale_down_strategy = ScaleDownStrategy::kUnknown;
         s.update_strategy = "y";
       },
       {"spec.lifecycle.scaleDownStrategy: must be `IdleOnly` or `PreferIdle`",
        "spec.nodeConfigurationUpdateStrategy.type: must be `Manual`, `OnSpecUpdate` or "
        "`Always`"}},
      {"as long a description as may be", [](Spec& s) { s.description = Umlauts(256); }, {}},
      {"one longer",
       [](Spec& s) { s.description = Umlauts(257); },
       {"spec.description: must have at most 256 characters"}},
  };
  for (const SpecCase& c : cases) {
    SCOPED_TRACE(c.name);
    Spec spec = GoodSpec();
    c.change(spec);
    EXPECT_EQ(FaultsOf(spec), c.faults);
  }
}

// A pool of a release before, which took them, can still be written.
TEST(ValidateSpec, WhatOthersKeepThemselvesIsRefusedUnlessItIsThere) {
  const auto faults_of = [](const Spec& spec, const Spec* before) {
    std::vector<std::string> lines;
    muster::error::Faults faults;
    ValidateForeignKeys(spec, before, faults);
    for (const auto& fault : faults) lines.push_back(fault.field + ": " + fault.description);
    return lines;
  };
  Spec spec;
  spec.node_labels = {{"beta.kubernetes.io/os", "x"}, {"beta.kubernetes.io/arch", "x"}};
  spec.node_annotations = {{"node.alpha.kubernetes.io/ttl", "30"},
                           {"alpha.kubernetes.io/provided-node-ip", "10.0.0.1"}};
  spec.node_taints = {{"ToBeDeletedByClusterAutoscaler", "", "NoSchedule"},
                      {"DeletionCandidateOfClusterAutoscaler", "", "PreferNoSchedule"},
                      {"mine", "", "NoSchedule"},
                      {"node.cloudprovider.kubernetes.io/uninitialized", "", "NoSchedule"}};
  Spec before;
  before.node_labels = {{"beta.kubernetes.io/os", "y"}};
  before.node_annotations = {{"alpha.kubernetes.io/provided-node-ip", "10.0.0.2"}};
  before.node_taints = {spec.node_taints[0]};
  EXPECT_THAT(faults_of(spec, nullptr), ::testing::SizeIs(7));
  const std::string of_kubernetes = ": is put on and taken off by Kubernetes itself";
  EXPECT_THAT(faults_of(spec, &before),
              ElementsAre("spec.nodeLabels[beta.kubernetes.io/arch]" + of_kubernetes,
                          "spec.nodeAnnotations[node.alpha.kubernetes.io/ttl]" + of_kubernetes,
                          "spec.nodeTaints[1].key: is the cluster autoscaler's",
                          "spec.nodeTaints[3].key" + of_kubernetes));
  EXPECT_THAT(faults_of(spec, &spec), IsEmpty());
}

TEST(ValidateSpec, TargetNodes) {
  EXPECT_THAT(FaultsOf(GoodSpec(), std::nullopt), ElementsAre("spec.targetNodes: is required"));
  EXPECT_THAT(FaultsOf(GoodSpec(), 0), IsEmpty());
  EXPECT_THAT(FaultsOf(GoodSpec(), kMaxTargetNodes), IsEmpty());
  for (const int64_t bad : {int64_t{-1}, kMaxTargetNodes + 1, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()}) {
    EXPECT_THAT(FaultsOf(GoodSpec(), bad),
                ElementsAre("spec.targetNodes: must be between 0 and 100000"));
  }
}

TEST(ValidateSpec, WhatCannotBeChanged) {
  Spec changed = GoodSpec();
  changed.instance_type = "other";
  changed.compute_class = "spot";
  const Spec before = GoodSpec();
  EXPECT_THAT(FaultsOf(changed, 1, &before),
              ElementsAre("spec.computeClass: ComputeClass cannot be changed",
                          "spec.instanceType: InstanceType cannot be changed"));
  Spec spelled = GoodSpec();
  spelled.compute_class = "default";
  EXPECT_THAT(FaultsOf(spelled, 1, &before), IsEmpty());
}

TEST(ValidateSpec, WhatDependsOnTheType) {
  const TypeFacts rack{"gb200-4x", 4, true, 18};
  Spec spec = GoodSpec();
  spec.compute_class = "spot";
  spec.autoscaling = true;
  spec.max_nodes = 100;
  EXPECT_THAT(FaultsOf(spec, 20, nullptr, &rack),
              ElementsAre("spec.computeClass: `spot` is not available for superchip type gb200-4x",
                          "spec.autoscaling: is not available for gb200-4x",
                          "spec.targetNodes: must be a multiple of 18 for gb200-4x"));
  EXPECT_THAT(FaultsOf(GoodSpec(), 36, nullptr, &rack), IsEmpty());
  Spec prefill = GoodSpec();
  prefill.prefill = Prefill{.enabled = true};
  EXPECT_THAT(FaultsOf(prefill, 36, nullptr, &rack),
              ElementsAre("spec.prefill.enabled: is not available for gb200-4x"));
}

std::vector<muster::error::FieldViolation> ValidateCluster(const Cluster& cluster) {
  muster::error::Faults faults;
  lifecycle::ValidateCluster(cluster, faults);
  return faults.named();
}

// As many faults as fit into a request cost no more than a few.
TEST(ValidateSpec, MillionsOfFaults) {
  Spec spec = GoodSpec();
  spec.node_taints.resize(2'000'000);
  spec.node_affinity.resize(2'000'000);
  muster::error::Faults faults;
  ValidateSpec(spec, 1, faults);
  EXPECT_EQ(faults.size(), 2u);
}

TEST(ValidateCluster, ZoneAndVersion) {
  EXPECT_THAT(ValidateCluster({.name = "n", .zone = "US-EAST-04A"}), IsEmpty());
  EXPECT_THAT(ValidateCluster({.name = "n", .zone = "US-EAST-04A", .kubernetes_version = "1.33"}),
              IsEmpty());
  EXPECT_EQ(ValidateCluster({.name = "n", .zone = "us", .kubernetes_version = "1.33.1"}).size(),
            2U);
  for (const char* bad :
       {"1", "1.", ".33", "1.33.", "1..33", "1.x", "1.1234567890", "1234567890.1", "1.-3", "1. 3"})
    EXPECT_EQ(
        ValidateCluster({.name = "n", .zone = "US-EAST-04A", .kubernetes_version = bad}).size(), 1U)
        << bad;
}

}  // namespace
}  // namespace muster::lifecycle
