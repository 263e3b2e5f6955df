#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/kubernetes/adapter/failure_scenarios.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// How one Pod left.
struct Leaving {
  int64_t version = 0;               // of the Pod when it was first seen to leave
  int64_t grace = 0;                 // seconds
  std::set<std::string> times = {};  // deletionTimestamp: one unless it was asked again
  bool evicted = false;              // the real server marks those
};

template <class Suite>
class DrainTestOn : public AdapterTest<Suite> {
 protected:
  using Base = AdapterTest<Suite>;
  using Base::stack;

  // A pool of one Node that goes with its work when the target is 0; the v1 Node.
  std::string OneNode(const std::string& pool, const std::string& strategy = "PreferIdle") {
    const std::string uid =
        Base::CreateHealthyPool(pool, {{"lifecycle", {{"scaleDownStrategy", strategy}}}});
    return Base::NodeNamesOf(uid).at(0);
  }
  void CreateDaemonPod(const std::string& name, const std::string& node) {
    const Json daemon_set = {{"apiVersion", "apps/v1"},
                             {"kind", "DaemonSet"},
                             {"name", "agent"},
                             {"uid", "0b6b0b5a"},
                             {"controller", true}};
    Base::CreatePod(name, node, {{"metadata", {{"ownerReferences", Json::array({daemon_set})}}}});
  }
  // Until `wanted` of the Pods of `default`, of whom nothing is missed since just before `begin`.
  bool AwaitPodsFrom(const std::function<void()>& begin,
                     const std::function<bool(const AdapterStack::Objects&)>& wanted) {
    bool begun = false;
    return stack().Await(kDefaultPodsPath, [&](const AdapterStack::Objects& pods) {
      if (!std::exchange(begun, true)) begin();
      return wanted(pods);
    });
  }
  PodCounts CountsOf(const Json& pod) {
    return stack().server().fake_or_null()->CountsOf(
        pod["metadata"]["uid"].template get_ref<const std::string&>());
  }
};

class DrainTest : public DrainTestOn<DrainTest> {
 protected:
  // Lets the Nodes of `pool` go and follows the Pods of `default` until those of `work` are gone;
  // how they left. `stay`: were they there, and not asked to leave, at that moment?
  std::map<std::string, Leaving> ScaleDownAndFollow(const std::string& pool,
                                                    const std::vector<std::string>& work,
                                                    const std::vector<std::string>& stay) {
    std::map<std::string, Leaving> seen;
    EXPECT_TRUE(AwaitPodsFrom(
        [&] {
          PatchSpec(pool, {{"targetNodes", 0}});
        },
        [&](const AdapterStack::Objects& pods) {
          bool over = true;
          for (const std::string& name : work) {
            const auto pod = pods.find("default/" + name);
            over &= pod == pods.end();
            if (pod != pods.end() && IsLeaving(pod->second)) Note(pod->second, seen[name]);
          }
          for (const std::string& name : stay) {
            const auto pod = pods.find("default/" + name);
            EXPECT_TRUE(!over || (pod != pods.end() && !IsLeaving(pod->second))) << name;
          }
          return over;
        }));
    return seen;
  }

 private:
  static void Note(const Json& pod, Leaving& leaving) {
    const Json& metadata = pod["metadata"];
    // Its kubelet's word is the last, with no time left.
    if (metadata.value("deletionGracePeriodSeconds", 0) == 0) return;
    if (leaving.version == 0) {
      EXPECT_TRUE(
          absl::SimpleAtoi(metadata["resourceVersion"].get<std::string>(), &leaving.version));
      leaving.grace = metadata["deletionGracePeriodSeconds"];
    }
    leaving.times.insert(metadata["deletionTimestamp"].get<std::string>());
    leaving.evicted |= !ConditionOf(pod, "DisruptionTarget").is_null();
  }
};

TEST_F(DrainTest, EachKindOfPodLeavesInItsOwnWayAndOnce) {
  const std::string pool = Name();
  const std::string node = OneNode(pool);
  const std::string evicted = Name("a-guarded");
  const std::string graceful = Name("b-graceful");
  const std::string interruptable = Name("c-interruptable");
  const std::string daemon = Name("daemon");
  const std::string mirror = Name("mirror");
  const auto with = [](const char* label, int grace) {
    return Json{{"metadata", {{"labels", {{label, "true"}}}}},
                {"spec", {{"terminationGracePeriodSeconds", grace}}}};
  };
  CreateDaemonPod(daemon, node);
  CreatePod(mirror, node,
            {{"metadata", {{"annotations", {{"kubernetes.io/config.mirror", "x"}}}}}});
  const Json guarded_pod = CreatePod(evicted, node, with("app", 2));
  const Json graceful_pod =
      CreatePod(graceful, node, with("qos.coreweave.com/graceful-interruptible", 3));
  const Json interruptable_pod =
      CreatePod(interruptable, node, with("qos.coreweave.cloud/interruptable", 60));
  ASSERT_TRUE(AwaitActive(node));

  std::map<std::string, Leaving> left =
      ScaleDownAndFollow(pool, {evicted, graceful, interruptable}, {daemon, mirror});
  EXPECT_LT(left[interruptable].version, left[graceful].version);
  EXPECT_LT(left[graceful].version, left[evicted].version);
  EXPECT_EQ(left[interruptable].grace, 1) << "at once";
  EXPECT_EQ(left[graceful].grace, 3) << "its own";
  EXPECT_EQ(left[evicted].grace, 2);
  for (const auto& [name, how] : left) EXPECT_THAT(how.times, SizeIs(1)) << name;
  EXPECT_TRUE(AwaitGone(node));
  EXPECT_TRUE(AwaitEvent(pool, "CWNodePoolScaledDown"));
  if (stack().server().is_real()) {
    EXPECT_TRUE(left[evicted].evicted);
    EXPECT_FALSE(left[graceful].evicted || left[interruptable].evicted);
    return;
  }
  EXPECT_EQ(CountsOf(guarded_pod).evictions, 1);
  EXPECT_EQ(CountsOf(guarded_pod).evictions_again, 0);
  EXPECT_EQ(CountsOf(guarded_pod).deletes, 0);
  for (const Json& pod : {graceful_pod, interruptable_pod}) {
    EXPECT_EQ(CountsOf(pod).evictions + CountsOf(pod).evictions_again, 0);
    EXPECT_EQ(CountsOf(pod).deletes, 1);
  }
}

TEST_F(DrainTest, ADisruptionBudgetHoldsItUntilItIsLifted) {
  const std::string pool = Name();
  const std::string node = OneNode(pool);
  const std::string web = Name("web");
  const std::string other = Name("other");
  const Json pod = CreatePod(web, node, {{"metadata", {{"labels", {{"app", web}}}}}});
  CreatePod(other, node);
  Guard(web, web);
  ASSERT_TRUE(AwaitActive(node));
  PatchSpec(pool, {{"targetNodes", 0}});
  EXPECT_TRUE(AwaitEvent(pool, "CWNodeDrainingPDBViolation"));
  EXPECT_TRUE(AwaitEvent(node, "CWNodeDrainingPDBViolation"));
  EXPECT_TRUE(AwaitPod(other, [](const Json& object) { return object.is_null(); }))
      << "one that is held holds nobody else";
  EXPECT_THAT(MusterNodesOf(pool).at(0).observed().drain_blocked_by(), HasSubstr("default/" + web));

  // A cordon of ours is put back.
  ASSERT_TRUE(IsCordoned(stack().GetNode(node)));
  stack().PatchNode(node, {{"spec", {{"unschedulable", nullptr}}}});
  EXPECT_TRUE(AwaitNode(node, IsCordoned));

  const auto found = stack().client().Get(absl::StrCat(kDefaultPodsPath, "/", web));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(IsLeaving(*found));
  const absl::Status lifted = stack().client().Delete(absl::StrCat(kBudgetsPath, "/", web));
  ASSERT_TRUE(lifted.ok()) << lifted;
  EXPECT_TRUE(AwaitPod(web, [](const Json& object) { return object.is_null(); }));
  EXPECT_TRUE(AwaitGone(node));
  if (stack().server().is_real()) return;
  EXPECT_EQ(CountsOf(pod).evictions, 1);
  EXPECT_EQ(CountsOf(pod).deletes, 0);
  EXPECT_GE(CountsOf(pod).evictions_refused, 1);
}

// The API server evicts no Pod that two budgets are about, and says 500.
TEST_F(DrainTest, TwoBudgetsOfOnePodHoldItAndAreTold) {
  const std::string pool = Name();
  const std::string node = OneNode(pool);
  const std::string web = Name("web");
  const std::string more = Name("more");
  CreatePod(web, node, {{"metadata", {{"labels", {{"app", web}}}}}});
  Guard(web, web);
  Guard(more, web);
  ASSERT_TRUE(AwaitActive(node));
  PatchSpec(pool, {{"targetNodes", 0}});
  ASSERT_TRUE(AwaitEvent(pool, "CWNodeDrainingPDBViolation"));
  EXPECT_THAT(MusterNodesOf(pool).at(0).observed().drain_blocked_by(),
              HasSubstr("more than one PodDisruptionBudget"));
  for (const std::string& budget : {web, more})
    EXPECT_TRUE(stack().client().Delete(absl::StrCat(kBudgetsPath, "/", budget)).ok());
  EXPECT_TRUE(AwaitGone(node));
}

TEST_F(DrainTest, UnderIdleOnlyNobodyIsAskedToLeave) {
  const std::string pool = Name();
  const std::string node = OneNode(pool, "IdleOnly");
  const std::string work = Name("work");
  const Json pod = CreatePod(
      work, node, {{"metadata", {{"labels", {{"qos.coreweave.cloud/interruptable", "true"}}}}}});
  ASSERT_TRUE(AwaitActive(node));
  PatchSpec(pool, {{"targetNodes", 0}});
  ASSERT_TRUE(AwaitReason(pool, "AtTarget", "OverTarget"));
  // Whoever would drain the Node does so after it was said that one is too many.
  ASSERT_TRUE(AwaitRenewals(stack(), 5));
  const auto found = stack().client().Get(absl::StrCat(kDefaultPodsPath, "/", work));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(IsLeaving(*found));
  EXPECT_FALSE(IsCordoned(stack().GetNode(node)));
  EndPod(work);
  EXPECT_TRUE(AwaitGone(node)) << "once it is idle";
  if (stack().server().is_real()) return;
  EXPECT_EQ(CountsOf(pod).evictions, 0);
  EXPECT_EQ(CountsOf(pod).deletes, 1) << "the test's own";
}

class ForcedDrainTest : public DrainTestOn<ForcedDrainTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options;
    options.muster.musterd_flags = {"--drain_deadline=2s"};
    return options;
  }
};

TEST_F(ForcedDrainTest, PastTheDeadlineTheRestIsDeleted) {
  const std::string pool = Name();
  const std::string node = OneNode(pool);
  const std::string web = Name("web");
  const std::string slow = Name("slow");
  const std::string daemon = Name("daemon");
  CreatePod(web, node, {{"metadata", {{"labels", {{"app", web}}}}}});
  CreatePod(slow, node,
            {{"metadata", {{"labels", {{"qos.coreweave.cloud/graceful-interruptible", "true"}}}}},
             {"spec", {{"terminationGracePeriodSeconds", 600}}}});
  CreateDaemonPod(daemon, node);
  Guard(web, web);
  ASSERT_TRUE(AwaitActive(node));
  const auto let_go = [&] { PatchSpec(pool, {{"targetNodes", 0}}); };
  EXPECT_TRUE(AwaitPodsFrom(let_go, [&](const AdapterStack::Objects& pods) {
    const bool over = !pods.contains("default/" + web) && !pods.contains("default/" + slow);
    EXPECT_TRUE(!over || !IsLeaving(pods.at("default/" + daemon)));
    return over;
  }));
  EXPECT_TRUE(AwaitEvent(pool, "CWNodeDrainingForceDelete"));
  EXPECT_TRUE(AwaitEvent(node, "CWNodeDrainingForceDelete"));
  EXPECT_TRUE(AwaitGone(node));
}

}  // namespace
}  // namespace muster::testing
