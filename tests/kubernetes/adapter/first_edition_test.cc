#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"

namespace muster::testing {
namespace {

// What the first edition could say and today's conditions say elsewhere. Kubelets are the test's.
class FirstEditionTest : public AdapterTest<FirstEditionTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options = WithoutKubelets();
    options.adapter_flags = {"--condition_edition=first"};
    return options;
  }

 protected:
  bool AwaitBoth(const std::string& pool, const std::string& accepted,
                 const std::string& allocated) {
    return AwaitReason(pool, "Accepted", accepted) && AwaitReason(pool, "Allocated", allocated);
  }
  std::string MessageOf(const std::string& pool, const char* type) {
    return ConditionOf(stack().GetNodePool(pool), type).value("message", "");
  }
};

TEST_F(FirstEditionTest, APolicyViolationIsToldInBothConditions) {
  const std::string elsewhere = Name();
  CreatePool(elsewhere, {{"instanceType", "gd-8xl40s-i128"}});
  EXPECT_TRUE(AwaitBoth(elsewhere, "PolicyViolation", "PolicyViolation"));
  EXPECT_EQ(MessageOf(elsewhere, "Accepted"),
            "Instance type gd-8xl40s-i128 is not available in zone RNO2A.");
  EXPECT_TRUE(AwaitEvent(elsewhere, "InstanceTypeNotInZone"));
  const std::string many = Name();
  CreatePool(many, {{"instanceType", "cd-gp-i96-icelake"}, {"targetNodes", 5}});
  EXPECT_TRUE(AwaitBoth(many, "PolicyViolation", "PolicyViolation"));
  EXPECT_EQ(MessageOf(many, "Accepted"),
            "NodePool targetNodes pushes you over quota for cd-gp-i96-icelake in RNO2A.");
  const std::string wrong = Name();
  CreatePool(wrong, {{"instanceType", "gd-of-the-future"}});
  EXPECT_TRUE(AwaitReason(wrong, "Accepted", "Invalid"));
}

TEST_F(FirstEditionTest, MetadataIsPendingUntilTheNodeIsThereWithAllOfIt) {
  const std::string pool = Name();
  const std::string machine = Deliver(pool);
  ASSERT_TRUE(AwaitReason(pool, "MetadataSynced", "Pending"));
  EXPECT_TRUE(stack().AwaitNodePool(pool, [](const Json& object) {
    return ConditionOf(object, "MetadataSynced")["message"] ==
           "Metadata of 1 of 1 Node is not synced yet.";
  }));
  JoinAs(machine);
  EXPECT_TRUE(AwaitReason(pool, "MetadataSynced", "Synced"));
  const absl::Status deleted = stack().client().Delete(absl::StrCat(kNodesPath, "/", machine));
  ASSERT_TRUE(deleted.ok()) << deleted;
  EXPECT_TRUE(AwaitReason(pool, "MetadataSynced", "Pending"));
}

TEST_F(FirstEditionTest, ANodeThatTurnsActiveIsAnEventEachTime) {
  const std::string node = Join(Name());
  const auto await_turns = [&](int64_t turns) {
    return stack().Await(kEventsPath, [&](const AdapterStack::Objects& events) {
      return std::count_if(events.begin(), events.end(), [&](const auto& event) {
               return event.second.value("reason", "") == "NodeCWActive" &&
                      event.second.value(Json::json_pointer("/regarding/name"), "") == node;
             }) == turns;
    });
  };
  EXPECT_TRUE(await_turns(1)) << "idle, for the first time";
  const std::string work = Name("work");
  for (const int64_t turns : {2, 4}) {
    CreatePod(work, node);
    EXPECT_TRUE(await_turns(turns));
    EndPod(work);
    EXPECT_TRUE(await_turns(turns + 1));
  }
}

}  // namespace
}  // namespace muster::testing
