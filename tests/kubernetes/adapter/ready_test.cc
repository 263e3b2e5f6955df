#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"

// Whether a NodePool is well in one condition, as kubectl and what goes by kstatus read it.
namespace muster::testing {
namespace {

using ::testing::HasSubstr;

class ReadyTest : public AdapterTest<ReadyTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options;
    options.adapter_flags = {"--ready_condition"};
    return options;
  }

 protected:
  bool AwaitReady(const std::string& pool, const std::string& status, const std::string& reason) {
    return stack().AwaitNodePool(pool, [&](const Json& object) {
      const Json ready = ConditionOf(object, "Ready");
      return !ready.is_null() && ready["status"] == status && ready["reason"] == reason &&
             object["status"].value("observedGeneration", 0) == object["metadata"]["generation"];
    });
  }
};

TEST_F(ReadyTest, FollowsThePool) {
  const std::string pool = Name();
  CreatePool(pool, {{"targetNodes", 2}});
  EXPECT_TRUE(AwaitReady(pool, "True", "Ready")) << stack().GetNodePool(pool).dump(2);
  EXPECT_TRUE(ConditionOf(stack().GetNodePool(pool), "Reconciling").is_null());

  stack().PatchNodePool(pool, {{"spec", {{"targetNodes", 100'000}}}});
  EXPECT_TRUE(AwaitReady(pool, "False", "Over")) << stack().GetNodePool(pool).dump(2);
  EXPECT_FALSE(ConditionOf(stack().GetNodePool(pool), "Stalled").is_null());

  stack().PatchNodePool(pool, {{"spec", {{"targetNodes", 1}}}});
  EXPECT_TRUE(AwaitReady(pool, "True", "Ready")) << stack().GetNodePool(pool).dump(2);
  EXPECT_TRUE(ConditionOf(stack().GetNodePool(pool), "Stalled").is_null());
}

TEST_F(ReadyTest, KubectlWaitsForIt) {
  if (std::getenv("KUBEBUILDER_ASSETS") == nullptr)
    GTEST_SKIP() << "not run on the fake API server: kubectl needs a real one";
  const std::string pool = Name();
  CreatePool(pool, {{"targetNodes", 2}});
  const Finished done = stack().Kubectl(
      {"wait", "--for=condition=Ready", absl::StrCat("nodepool/", pool), "--timeout=60s"});
  EXPECT_EQ(done.exit_code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("condition met"));
}

}  // namespace
}  // namespace muster::testing
