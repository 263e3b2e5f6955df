#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/patience.h"

// The public reference of spot as a user of the cluster sees it: notice, drain, removal, refill.
// The kubelets are the test's, so that a Pod ends when the test says so, or by force.
namespace muster::testing {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr char kPending[] = "qos.coreweave.cloud/pending-preemption";
constexpr char kEvictedAt[] = "qos.coreweave.cloud/evicted-at";

// Three machines in all, which nobody else uses.
constexpr char kFew[] = R"(
apiVersion: muster/v1
kind: MachineSet
metadata: {name: rno2a-genoa-l}
spec: {zone: RNO2A, instanceType: cd-gp-l-a192-genoa, count: 3, racks: 1}
---
apiVersion: muster/v1
kind: Quota
metadata: {organization: acme}
spec: {zone: RNO2A, instanceType: cd-gp-l-a192-genoa, computeClass: default, limit: 3}
---
apiVersion: muster/v1
kind: Quota
metadata: {organization: acme}
spec: {zone: RNO2A, instanceType: cd-gp-l-a192-genoa, computeClass: spot, limit: 3}
)";

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

absl::Time TimeOf(const Json& text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text.get<std::string>(), &time, &error)) << error;
  return time;
}

template <class Suite>
class SpotTestOn : public AdapterTest<Suite> {
 protected:
  using Base = AdapterTest<Suite>;
  using Base::stack;

  static AdapterStack::Options WithPreemption(const char* notice, const char* end) {
    AdapterStack::Options options = Base::WithoutKubelets();
    options.muster.musterd_flags = {absl::StrCat("--preemption_notice=", notice),
                                    absl::StrCat("--preemption_end=", end)};
    // The adapter says when a Node is drained.
    options.muster.fleetsim_flags.push_back("--drain_time=24h");
    return options;
  }
  Json Spec(const char* compute_class, int nodes) {
    return {{"instanceType", "cd-gp-l-a192-genoa"},
            {"computeClass", compute_class},
            {"targetNodes", nodes}};
  }
  // Until so many machines boot for the pool, and join; their v1 Nodes.
  std::vector<std::string> JoinAll(const std::string& pool, int64_t machines) {
    EXPECT_TRUE(stack().AwaitNodePool(pool, [&](const Json& object) {
      return object.contains("status") && object["status"].value("inProgress", 0) == machines;
    })) << stack().GetNodePool(pool).dump(2);
    std::vector<std::string> joined;
    for (const auto& node : Base::MusterNodesOf(pool)) {
      if (node.state() != lifecycle::v1::Node::STATE_BOOTING &&
          node.state() != lifecycle::v1::Node::STATE_ASSIGNED)
        continue;
      Base::JoinAs(node.machine());
      joined.push_back(node.machine());
    }
    return joined;
  }
  // The Node of the pool that is told first that it is preempted.
  std::string AwaitNotice(const std::vector<std::string>& nodes) {
    std::string told;
    EXPECT_TRUE(stack().Await(kNodesPath, [&](const AdapterStack::Objects& objects) {
      for (const std::string& name : nodes) {
        const auto node = objects.find(name);
        if (node != objects.end() && LabelOf(node->second, kPending) == "true") told = name;
      }
      return !told.empty();
    }));
    return told;
  }
  lifecycle::v1::Node MusterNode(const std::string& pool, const std::string& machine) {
    for (const auto& node : Base::MusterNodesOf(pool)) {
      if (node.machine() == machine) return node;
    }
    return {};
  }
  // One Pod of each kind on a Node: plain, held by a budget, interruptable, graceful. Their names.
  std::vector<std::string> Fill(const std::string& node) {
    const auto labelled = [](const std::string& key, const std::string& value) {
      return Json{{"metadata", {{"labels", {{key, value}}}}}};
    };
    std::vector<std::string> pods;
    const auto add = [&](const std::string& kind, const Json& changes) {
      pods.push_back(absl::StrCat(node, "-", kind));
      Base::CreatePod(pods.back(), node, changes);
    };
    add("plain", Json::object());
    add("held", labelled("app", "held"));
    add("interruptable", labelled("qos.coreweave.cloud/interruptable", "true"));
    add("graceful", labelled("qos.coreweave.cloud/graceful-interruptible", "true"));
    return pods;
  }
  // No Pod `app: held` may be evicted.
  void Guard() {
    const auto made = stack().client().Create(
        kBudgetsPath,
        {{"apiVersion", "policy/v1"},
         {"kind", "PodDisruptionBudget"},
         {"metadata", {{"name", "held"}, {"namespace", "default"}}},
         {"spec", {{"maxUnavailable", 0}, {"selector", {{"matchLabels", {{"app", "held"}}}}}}}});
    ASSERT_TRUE(made.ok() || absl::IsAlreadyExists(made.status())) << made.status();
    stack().server().SettleBudgets();
  }
  // Until all of them are asked to leave; as they were when they first were.
  std::map<std::string, Json> AwaitEviction(const std::vector<std::string>& pods) {
    std::map<std::string, Json> leaving;
    EXPECT_TRUE(stack().Await(kDefaultPodsPath, [&](const AdapterStack::Objects& objects) {
      for (const std::string& name : pods) {
        const auto pod = objects.find("default/" + name);
        if (pod != objects.end() && IsLeaving(pod->second)) leaving.emplace(name, pod->second);
      }
      return leaving.size() == pods.size();
    }));
    return leaving;
  }
  void Restart() {
    stack().KillAdapter();
    stack().StartAdapter();
  }
  // How often an event of that reason about that Node was told, at the API server.
  int64_t CountOf(const std::string& node, const std::string& reason) {
    int64_t count = 0;
    for (const Json& event : stack().Events()) {
      if (event.value(Json::json_pointer("/regarding/name"), "") != node) continue;
      if (event.value("reason", "") == reason)
        count += event.value(Json::json_pointer("/series/count"), int64_t{1});
    }
    return count;
  }
};

class SpotTest : public SpotTestOn<SpotTest> {
 public:
  static AdapterStack::Options MakeOptions() { return WithPreemption("4s", "30m"); }
};

TEST_F(SpotTest, FromTheNoticeToTheRefillWhateverTheAdapterLivesThrough) {
  ApplyToMuster(kFew);
  Guard();
  const std::string other = Name("other");
  const std::string spot = Name("spot");
  CreatePool(other, Spec("default", 1));
  JoinAll(other, 1);
  CreatePool(spot, Spec("spot", 2));
  const std::vector<std::string> nodes = JoinAll(spot, 2);
  ASSERT_EQ(nodes.size(), 2u);
  ASSERT_TRUE(stack().AwaitHealthy(spot, 2));
  std::map<std::string, std::vector<std::string>> pods;
  for (const std::string& node : nodes) pods[node] = Fill(node);
  for (const std::string& node : nodes) ASSERT_TRUE(AwaitActive(node));
  stack().server().SettleBudgets();

  // T+0: cordoned, labelled, warned.
  PatchSpec(other, {{"targetNodes", 2}});
  const std::string victim = AwaitNotice(nodes);
  ASSERT_FALSE(victim.empty());
  EXPECT_TRUE(AwaitNode(victim, IsCordoned));
  EXPECT_TRUE(AwaitEvent(victim, "Preemption pending"));
  Restart();

  // T+2: every Pod is asked to leave, with the time that is left, the budget or not.
  const std::map<std::string, Json> leaving = AwaitEviction(pods[victim]);
  Restart();
  ASSERT_TRUE(AwaitNode(victim, [](const Json& node) {
    return !LabelOf(node, kEvictedAt).empty() && !AnnotationOf(node, kEvictedAt).empty();
  })) << stack().GetNode(victim).dump(2);
  const lifecycle::v1::Node drained = MusterNode(spot, victim);
  const absl::Time notice = TimeOf(drained.preempt_time());
  const absl::Time begin = TimeOf(drained.desired().drain_time());
  const absl::Time end = TimeOf(drained.desired().drain_deadline());
  EXPECT_GE(begin - notice, absl::Seconds(4));
  EXPECT_EQ(end - notice, absl::Minutes(30));
  const std::string evicted_at = AnnotationOf(stack().GetNode(victim), kEvictedAt);
  EXPECT_EQ(TimeOf(Json(evicted_at)), absl::FromUnixSeconds(absl::ToUnixSeconds(begin)));
  for (const auto& [name, pod] : leaving) {
    const int64_t grace = pod["metadata"]["deletionGracePeriodSeconds"];
    EXPECT_GT(grace, 1) << name << ": what is left, not its own";
    EXPECT_LE(absl::Seconds(grace), end - begin) << name;
    const absl::Time asked = TimeOf(pod["metadata"]["deletionTimestamp"]) - absl::Seconds(grace);
    EXPECT_GE(asked + absl::Seconds(1), begin) << name << " was asked before its notice was over";
    EXPECT_TRUE(ConditionOf(pod, "DisruptionTarget").is_null()) << name << " was evicted";
  }
  EXPECT_TRUE(AwaitEvent(victim, "Preemption in progress"));

  // Drained, it goes at once; its machine is handed over.
  for (const std::string& pod : pods[victim]) EndPod(pod);
  Restart();
  EXPECT_TRUE(AwaitGone(victim));
  EXPECT_TRUE(AwaitEvent(victim, "Deleted for preemption"));
  EXPECT_EQ(JoinAll(other, 1), std::vector<std::string>{victim});
  EXPECT_TRUE(stack().AwaitHealthy(other, 2));
  for (const char* reason :
       {"Preemption pending", "Preemption in progress", "Deleted for preemption"})
    EXPECT_EQ(CountOf(victim, reason), 1) << reason;

  // The other Node and its Pods have nothing to do with it. The pool stays, and waits.
  const std::string spared = nodes[0] == victim ? nodes[1] : nodes[0];
  EXPECT_FALSE(IsCordoned(stack().GetNode(spared)));
  for (const std::string& pod : pods[spared]) {
    const auto found = stack().client().Get(absl::StrCat(kDefaultPodsPath, "/", pod));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_FALSE(IsLeaving(*found)) << pod;
  }
  EXPECT_TRUE(AwaitReason(spot, "Capacity", "QueuedAwaitingCapacity"));
  EXPECT_TRUE(AwaitReason(spot, "AtTarget", "UnderTarget"));

  // A machine comes free: it refills by itself.
  PatchSpec(other, {{"targetNodes", 1}});
  EXPECT_EQ(JoinAll(spot, 1).size(), 1u);
  EXPECT_TRUE(stack().AwaitHealthy(spot, 2));
}

class SpotEndTest : public SpotTestOn<SpotEndTest> {
 public:
  static AdapterStack::Options MakeOptions() { return WithPreemption("1s", "20s"); }
};

// "When the seven-minute window expires": whatever its Pods do, and the adapter.
TEST_F(SpotEndTest, AtTheEndItGoesWithWhateverIsLeft) {
  ApplyToMuster(kFew);
  const std::string other = Name("other");
  const std::string spot = Name("spot");
  CreatePool(spot, Spec("spot", 3));
  const std::vector<std::string> nodes = JoinAll(spot, 3);
  ASSERT_EQ(nodes.size(), 3u);
  std::map<std::string, std::vector<std::string>> pods;
  for (const std::string& node : nodes) pods[node] = Fill(node);
  for (const std::string& node : nodes) ASSERT_TRUE(AwaitActive(node));
  CreatePool(other, Spec("default", 1));
  const std::string victim = AwaitNotice(nodes);
  ASSERT_FALSE(victim.empty());
  // Their kubelet ends none of them, and from here on the adapter asks nobody.
  stack().KillAdapter();
  Until(
      [&] {
        const auto state = MusterNode(spot, victim).state();
        return state != lifecycle::v1::Node::STATE_CORDONED &&
               state != lifecycle::v1::Node::STATE_DRAINING;
      },
      "the end of the window");
  stack().StartAdapter();
  EXPECT_TRUE(AwaitGone(victim));
  EXPECT_TRUE(AwaitEvent(victim, "Deleted for preemption"));
  // As the cluster collects what is left of a Node that is gone.
  for (const std::string& pod : pods[victim]) EndPod(pod);
  EXPECT_EQ(JoinAll(other, 1), std::vector<std::string>{victim});
  EXPECT_TRUE(stack().AwaitHealthy(other, 1));
  for (const std::string& node : nodes) {
    if (node == victim) continue;
    EXPECT_FALSE(IsCordoned(stack().GetNode(node))) << node;
  }
}

}  // namespace
}  // namespace muster::testing
