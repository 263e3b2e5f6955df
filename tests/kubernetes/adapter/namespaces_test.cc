#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"

namespace muster::testing {
namespace {

constexpr char kOrganization[] = "ns.coreweave.cloud/org";

class NamespacesTest : public AdapterTest<NamespacesTest> {
 protected:
  void Create(const std::string& name, const Json& labels = Json::object()) {
    const auto made = stack().client().Create(kNamespacesPath,
                                              {{"apiVersion", "v1"},
                                               {"kind", "Namespace"},
                                               {"metadata", {{"name", name}, {"labels", labels}}}});
    ASSERT_TRUE(made.ok() || absl::IsAlreadyExists(made.status())) << made.status();
  }
  void Label(const std::string& name, const Json& labels) {
    const auto written = stack().client().Patch(kubernetes::PatchType::kMerge,
                                                absl::StrCat(kNamespacesPath, "/", name),
                                                {{"metadata", {{"labels", labels}}}});
    ASSERT_TRUE(written.ok()) << written.status();
  }
  bool AwaitOrganization(const std::string& name, const std::string& organization) {
    return stack().Await(kNamespacesPath, [&](const AdapterStack::Objects& all) {
      const auto found = all.find(name);
      return found != all.end() && LabelOf(found->second, kOrganization) == organization;
    });
  }
};

TEST_F(NamespacesTest, ThoseOfTheControlPlaneAreLabelledSo) {
  Create("hpc-verification");
  Create("node-problem-detector");
  for (const char* name :
       {"kube-system", "muster-system", "hpc-verification", "node-problem-detector"})
    EXPECT_TRUE(AwaitOrganization(name, "control-plane")) << name;
}

TEST_F(NamespacesTest, AllOthersAreTheOrganizations) {
  EXPECT_TRUE(AwaitOrganization("default", "acme"));
  Create("team", {{"their", "label"}});
  EXPECT_TRUE(AwaitOrganization("team", "acme"));
  Create("sly", {{kOrganization, "control-plane"}});
  EXPECT_TRUE(AwaitOrganization("sly", "acme"));
}

TEST_F(NamespacesTest, WhatSomebodyChangesIsPutBack) {
  Create("changed", {{"their", "label"}});
  ASSERT_TRUE(AwaitOrganization("changed", "acme"));
  Label("changed", {{kOrganization, "other"}});
  EXPECT_TRUE(AwaitOrganization("changed", "acme"));
  Label("changed", {{kOrganization, nullptr}});
  EXPECT_TRUE(AwaitOrganization("changed", "acme"));
  Label("kube-system", {{kOrganization, "acme"}});
  EXPECT_TRUE(AwaitOrganization("kube-system", "control-plane"));
  const auto there = stack().client().Get(absl::StrCat(kNamespacesPath, "/changed"));
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_EQ(LabelOf(*there, "their"), "label");
}

}  // namespace
}  // namespace muster::testing
