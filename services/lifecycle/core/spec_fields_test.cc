#include "services/lifecycle/core/spec_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/lifecycle/core/testing/decide.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Every field other than it is by default.
Spec Full() {
  Spec spec;
  spec.compute_class = "spot";
  spec.instance_type = "t";
  spec.target_nodes = 1;
  spec.min_nodes = 2;
  spec.max_nodes = 3;
  spec.node_labels = {{"a", "b"}};
  spec.node_annotations = {{"a", "b"}};
  spec.node_taints = {{"a", "b", "NoSchedule"}};
  spec.image = Image{"k", "n", "stable"};
  spec.gpu = Gpu{"570"};
  spec.autoscaling = true;
  spec.scale_down_strategy = ScaleDownStrategy::kPreferIdle;
  spec.disable_unhealthy_node_eviction = false;
  spec.update_strategy = "Manual";
  spec.max_unavailable = "1";
  spec.node_affinity = {{{"a", "Exists", {}}}};
  spec.priority = 1;
  spec.gang = true;
  spec.prefill = Prefill{true, 1, 2};
  spec.description = "d";
  return spec;
}

TEST(SpecFields, EveryPathCopiesWhatItNamesAndNothingElse) {
  for (const absl::string_view path : SpecPaths()) {
    Spec spec;
    CopyFields({std::string(path)}, Full(), spec);
    const std::vector<std::string> changed = ChangedFields(Spec(), spec);
    ASSERT_EQ(changed.size(), 1) << path;
    EXPECT_EQ(path.substr(0, changed[0].size()), changed[0]) << path;
  }
}

TEST(SpecFields, AllOfThemAreTheWholeSpec) {
  std::vector<std::string> paths;
  for (const absl::string_view path : SpecPaths()) paths.emplace_back(path);
  for (const auto& all : {paths, {"spec"}, {"*"}}) {
    Spec spec;
    CopyFields(all, Full(), spec);
    EXPECT_EQ(spec, Full());
    CopyFields(all, Spec(), spec);
    EXPECT_EQ(spec, Spec());
  }
}

TEST(SpecFields, APartOfWhatIsMissingMakesItAndTheLastOneTakesItAway) {
  Spec spec;
  CopyFields({"spec.image.name"}, Full(), spec);
  EXPECT_EQ(spec.image, (Image{.name = "n"}));
  CopyFields({"spec.image.kernel"}, Full(), spec);
  CopyFields({"spec.image.name"}, Spec(), spec);
  EXPECT_EQ(spec.image, (Image{.kernel = "k"}));
  CopyFields({"spec.image.kernel"}, Spec(), spec);
  EXPECT_EQ(spec.image, std::nullopt);
}

TEST(SpecFields, AMessageNamesItsFields) {
  Spec spec;
  CopyFields({"spec.lifecycle"}, Full(), spec);
  EXPECT_THAT(ChangedFields(Spec(), spec),
              ElementsAre("spec.lifecycle.scale_down_strategy",
                          "spec.lifecycle.disable_unhealthy_node_eviction",
                          "spec.lifecycle.max_unavailable"));
  EXPECT_TRUE(NamesField({"spec"}, "spec.target_nodes"));
  EXPECT_FALSE(NamesField({"spec.target"}, "spec.target_nodes"));
}

// AIP-134: "fields which are in the update mask ... are updated", others stay.
TEST(UpdateNodePool, LeavesWhatOthersWrote) {
  Running sim(1);
  sim.Apply([](Spec& spec) {
    spec.target_nodes = 3;
    spec.description = "before";
  });
  UpdateNodePool command{
      .name = kSimPool, .paths = {"spec.description"}, .type = sim.catalogue.type};
  command.values.description = "after";
  const auto outcome = sim.Run(command);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(sim.pool()->spec.target_nodes, 3);
  EXPECT_EQ(sim.pool()->spec.description, "after");
  EXPECT_THAT(outcome->changed_fields, ElementsAre("spec.description"));
  EXPECT_THAT(sim.Run(command)->changed_fields, IsEmpty()) << "the same again";
}

TEST(UpdateNodePool, IsJudgedAsTheWholeThatComesOfIt) {
  Simulation sim;
  UpdateNodePool command{.name = kSimPool, .paths = {"spec.min_nodes"}};
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "NOT_FOUND");
  sim.Create(2);
  command.values.min_nodes = -1;
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "INVALID_FIELD");
  command.paths = {"spec.target_nodes"};
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "INVALID_FIELD") << "a target is required";
  command.paths = {"spec.instance_type"};
  command.values.instance_type = "gd-8xh100ib-i128";
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "INVALID_FIELD") << "it cannot be changed";
  command.paths = {"spec.description"};
  command.etag = "other";
  EXPECT_TRUE(sim.Run(command).ok()) << "it is so already";
  command.values.description = "new";
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "ETAG_MISMATCH");
  sim.Delete();
  command.etag.clear();
  command.values.description = "gone";
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "POOL_DELETING");
}

// Those of the fields alone, and those beside what the pool is.
TEST(UpdateNodePool, IsToldOfEveryFault) {
  Simulation sim;
  sim.Create(2);
  UpdateNodePool command{.name = kSimPool, .paths = {"spec.instance_type", "spec.min_nodes"}};
  command.values.instance_type = "gd-8xh100ib-i128";
  command.values.min_nodes = -1;
  const auto detail = muster::error::DetailOf(sim.Run(command).status());
  ASSERT_TRUE(detail.has_value());
  std::vector<std::string> fields;
  for (const auto& fault : detail->fields) fields.push_back(fault.field);
  EXPECT_THAT(fields, ElementsAre("spec.minNodes", "spec.instanceType"));
}

TEST(ChangedFields, AreToldOfEveryMutationOfTheSpec) {
  Simulation sim;
  EXPECT_THAT(sim.Run(PoolOfNodes(2))->changed_fields, ElementsAre("spec")) << "it is new";
  EXPECT_THAT(sim.Run(PoolOfNodes(2))->changed_fields, IsEmpty());
  sim.Must(ResizeNodePool{.name = kSimPool, .target_nodes = 7});
  EXPECT_THAT(sim.Run(PoolOfNodes(2))->changed_fields, ElementsAre("spec.target_nodes"))
      << "whoever applies a whole spec learns what it undid";
  EXPECT_THAT(sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = 3})->changed_fields,
              ElementsAre("spec.target_nodes"));
  EXPECT_THAT(sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = 3})->changed_fields,
              IsEmpty());
}

}  // namespace
}  // namespace muster::lifecycle
