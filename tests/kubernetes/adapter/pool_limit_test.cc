#include "absl/strings/match.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

class PoolLimitTest : public AdapterTest<PoolLimitTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options;
    options.muster.musterd_flags = {"--max_pools_per_organization=1"};
    options.adapter_flags = {"--refusal_retry=200ms"};
    return options;
  }

 protected:
  // Writes of the event of that reason about the object of that name, its repetitions included.
  int64_t TimesTold(const std::string& object, const std::string& reason) {
    int64_t times = 0;
    for (const Json& event : stack().Events()) {
      if (event.value(Json::json_pointer("/regarding/name"), "") != object ||
          event.value("reason", "") != reason)
        continue;
      times += event.value(Json::json_pointer("/series/count"), int64_t{1});
    }
    return times;
  }
};

TEST_F(PoolLimitTest, OneMoreThanMayBeIsToldAndTakenUpOnceThereIsRoom) {
  const std::string first = Name();
  const std::string second = Name();
  const std::string uid = CreateHealthyPool(first);
  CreatePool(second);
  ASSERT_TRUE(AwaitReason(second, "Quota", "Over"));
  const Json refused = stack().GetNodePool(second);
  EXPECT_EQ(ConditionOf(refused, "Quota")["status"], "False");
  EXPECT_THAT(ConditionOf(refused, "Quota")["message"], HasSubstr("TOO_MANY_"));
  EXPECT_THAT(ConditionOf(refused, "Quota")["message"], HasSubstr("tried again by itself"));
  EXPECT_TRUE(ConditionOf(refused, "Validated").is_null()) << "nothing is wrong with it";
  EXPECT_EQ(refused["status"]["currentNodes"], 0);
  ASSERT_TRUE(AwaitEvent(second, "CWNodePoolNodesRequestFailed"));
  EXPECT_TRUE(stack().AwaitHealthy(first, 1)) << "what there is stays";
  EXPECT_EQ(NodesOf(uid).size(), 1U);
  // Another wish of what is refused is refused, too.
  PatchSpec(second, {{"targetNodes", 2}});
  ASSERT_TRUE(AwaitReason(second, "Quota", "Over"));

  stack().DeleteNodePool(first);
  EXPECT_TRUE(stack().AwaitHealthy(second, 2));
  EXPECT_TRUE(stack().AwaitNodePool(first, [](const Json& object) { return object.is_null(); }));
  EXPECT_LE(TimesTold(second, "CWNodePoolNodesRequestFailed"), 2) << "once a wish, not once a try";
  stack().DeleteNodePool(second);
}

// What was refused may be right once an operator has corrected the type.
TEST_F(PoolLimitTest, ACatalogueThatWasWrongIsHeardOfByItself) {
  const auto trio = [&](int nodes_per_rack) {
    ApplyToMuster(absl::StrCat(R"(apiVersion: muster/v1
kind: InstanceType
metadata: {name: trio-3x}
spec: {gpus: 2, gpuModel: GB200, vcpus: 72, memoryKib: 468750000, ephemeralStorageKib: 7499362648,
  architecture: arm64, maxPods: 110, nodesPerRack: )",
                               nodes_per_rack, "}\n"));
  };
  trio(3);
  const std::string name = Name();
  CreatePool(name, {{"instanceType", "trio-3x"}, {"targetNodes", 2}});
  const auto says_multiple = [](const Json& object) {
    const Json condition = ConditionOf(object, "Validated");
    return !condition.is_null() &&
           absl::StrContains(condition.value("message", ""), "must be a multiple of 3 for trio-3x");
  };
  ASSERT_TRUE(stack().AwaitNodePool(name, says_multiple));
  trio(1);
  EXPECT_TRUE(
      stack().AwaitNodePool(name, [&](const Json& object) { return !says_multiple(object); }));
}

}  // namespace
}  // namespace muster::testing
