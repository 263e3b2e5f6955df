#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"

// The API server refuses what Muster wants on a Node: the cluster's own policies, or a right that
// was taken away. Muster has the Node in production all the same.
namespace muster::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kPolicies[] = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
constexpr char kBindings[] =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
constexpr char kPolicy[] = "no-teams-on-nodes";

class MetadataRefusedTest : public AdapterTest<MetadataRefusedTest> {
 protected:
  static Json Deny(const char* kind, const Json& spec) {
    return {{"apiVersion", "admissionregistration.k8s.io/v1"},
            {"kind", kind},
            {"metadata", {{"name", kPolicy}}},
            {"spec", spec}};
  }
  // That label may not be on that Node.
  void RefuseTeams(const std::string& node) {
    FakeApiServer* fake = stack().server().fake_or_null();
    if (fake != nullptr) {
      fake->FailNext({.verb = "PATCH",
                      .path_prefix = absl::StrCat(kNodesPath, "/", node),
                      .code = 403,
                      .count = 1'000'000,
                      .body_contains = "example.com/team"});
      return;
    }
    const Json rule = {{"apiGroups", {""}},
                       {"apiVersions", {"v1"}},
                       {"operations", {"UPDATE"}},
                       {"resources", {"nodes"}}};
    const Json validation = {
        {"expression",
         absl::StrCat("object.metadata.name != '", node,
                      "' || !('example.com/team' in object.metadata.?labels.orValue({}))")},
        {"message", "Nodes have no team."}};
    ASSERT_TRUE(
        stack()
            .client()
            .Create(kPolicies, Deny("ValidatingAdmissionPolicy",
                                    {{"failurePolicy", "Fail"},
                                     {"matchConstraints", {{"resourceRules", Json::array({rule})}}},
                                     {"validations", Json::array({validation})}}))
            .ok());
    ASSERT_TRUE(
        stack()
            .client()
            .Create(kBindings, Deny("ValidatingAdmissionPolicyBinding",
                                    {{"policyName", kPolicy}, {"validationActions", {"Deny"}}}))
            .ok());
    AwaitPolicy(node);
  }
  // It takes effect a second or two after it was made.
  void AwaitPolicy(const std::string& node) {
    const Json patch = {{"metadata", {{"labels", {{"example.com/team", "probe"}}}}}};
    for (const absl::Time give_up = absl::Now() + absl::Seconds(60); absl::Now() < give_up;) {
      const auto tried =
          stack().client().Patch(kubernetes::PatchType::kMerge, absl::StrCat(kNodesPath, "/", node),
                                 patch, {{"dryRun", "All"}});
      if (absl::StrContains(tried.status().message(), "Nodes have no team.")) return;
    }
    ADD_FAILURE() << "the policy takes no effect";
  }
  void RefuseNoMore() {
    FakeApiServer* fake = stack().server().fake_or_null();
    if (fake != nullptr) return fake->FailNoMore();
    for (const char* path : {kBindings, kPolicies})
      EXPECT_TRUE(stack().client().Delete(absl::StrCat(path, "/", kPolicy)).ok());
  }
};

TEST_F(MetadataRefusedTest, ThePoolIsNotHealthyAsLongAsItIs) {
  const std::string pool = Name();
  const std::string node = NodeNamesOf(CreateHealthyPool(pool)).at(0);
  RefuseTeams(node);
  PatchSpec(pool, {{"nodeLabels", {{"example.com/team", "a"}}}});
  ASSERT_TRUE(AwaitReason(pool, "AtTarget", "InternalError"));
  const Json at_target = ConditionOf(stack().GetNodePool(pool), "AtTarget");
  EXPECT_EQ(at_target["status"], "Unknown");
  EXPECT_THAT(
      at_target["message"].get<std::string>(),
      HasSubstr(absl::StrCat("The API server refuses the metadata of 1 Node: ", node, ": ")));
  EXPECT_EQ(LabelOf(stack().GetNode(node), "example.com/team"), "");

  RefuseNoMore();
  EXPECT_TRUE(AwaitReason(pool, "AtTarget", "TargetMet"));
  EXPECT_EQ(LabelOf(stack().GetNode(node), "example.com/team"), "a");
}

TEST_F(MetadataRefusedTest, OneNodeThatIsRefusedHoldsNoOther) {
  const std::string pool = Name();
  const std::vector<std::string> nodes = NodeNamesOf(CreateHealthyPool(pool, {{"targetNodes", 2}}));
  RefuseTeams(nodes.at(1));  // no other name begins with the last one
  PatchSpec(pool, {{"nodeLabels", {{"example.com/team", "a"}}}});
  ASSERT_TRUE(AwaitReason(pool, "AtTarget", "InternalError"));
  for (const char* team : {"b", "c"}) {
    PatchSpec(pool, {{"nodeLabels", {{"example.com/team", team}}}});
    EXPECT_TRUE(AwaitNode(
        nodes.at(0), [&](const Json& node) { return LabelOf(node, "example.com/team") == team; }));
    EXPECT_EQ(LabelOf(stack().GetNode(nodes.at(1)), "example.com/team"), "");
  }
  RefuseNoMore();
  EXPECT_TRUE(AwaitReason(pool, "AtTarget", "TargetMet"));
}

TEST_F(MetadataRefusedTest, ADeletedPoolGoesAllTheSame) {
  const std::string pool = Name();
  const std::string node = NodeNamesOf(CreateHealthyPool(pool)).at(0);
  RefuseTeams(node);
  PatchSpec(pool, {{"nodeLabels", {{"example.com/team", "a"}}}});
  ASSERT_TRUE(AwaitReason(pool, "AtTarget", "InternalError"));
  const std::string pod = Name("work");
  CreatePod(pod, node);
  stack().DeleteNodePool(pool);
  EXPECT_TRUE(AwaitPod(pod, [](const Json& object) { return object.is_null(); }));
  EXPECT_TRUE(stack().AwaitNodePool(pool, [](const Json& object) { return object.is_null(); }));
  RefuseNoMore();
}

// The label is on the Node already: the cordon alone, which leaves it there, is refused as well.
TEST_F(MetadataRefusedTest, ACordonThatIsRefusedDoesNotKeepTheRestFromBeingTried) {
  const std::string pool = Name();
  const std::string uid = CreateHealthyPool(pool, {{"nodeLabels", {{"example.com/team", "a"}}}});
  const std::string node = NodeNamesOf(uid).at(0);
  ASSERT_EQ(LabelOf(stack().GetNode(node), "example.com/team"), "a");
  RefuseTeams(node);
  PatchSpec(pool, {{"targetNodes", 0}});
  ASSERT_TRUE(stack().AwaitNodePool(pool, [](const Json& object) {
    const Json at_target = ConditionOf(object, "AtTarget");
    return absl::StrContains(at_target.value("message", ""), "refuses the metadata");
  }));
  PatchSpec(pool, {{"nodeLabels", nullptr}});
  EXPECT_TRUE(AwaitNodeNames(uid, {}));
  RefuseNoMore();
}

TEST_F(MetadataRefusedTest, WhatIsNotWantedAnyMoreIsNotAmiss) {
  const std::string pool = Name();
  const std::string node = NodeNamesOf(CreateHealthyPool(pool)).at(0);
  RefuseTeams(node);
  PatchSpec(pool, {{"nodeLabels", {{"example.com/team", "a"}}}});
  ASSERT_TRUE(AwaitReason(pool, "AtTarget", "InternalError"));
  PatchSpec(pool, {{"nodeLabels", nullptr}});
  EXPECT_TRUE(AwaitReason(pool, "AtTarget", "TargetMet"));
  RefuseNoMore();
}

}  // namespace
}  // namespace muster::testing
