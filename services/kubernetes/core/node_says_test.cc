#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/testing/node_plan.h"
#include "services/kubernetes/core/testing/objects.h"
#include "services/kubernetes/core/testing/simulated_node.h"

// What a v1 Node says of itself, and what is told of it: the profile that it runs, its work,
// whether its metadata is as it should be.
namespace muster::kubernetes {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;
using ::testing::IsEmpty;

constexpr char kDesired[] = "np-0123456789ab";
constexpr char kOther[] = "np-ba9876543210";

NodePlan PlanWithoutPods(const Node& node, const NodeObject& object) {
  return PlanNode({.node = &node, .object = &object, .now = Then()});
}

NodeObject Running(const std::string& profile) {
  NodeObject object = ReadNode(MakeNodeJson(true));
  if (!profile.empty()) object.annotations[kProfileAnnotation] = profile;
  return object;
}

// The profiles that it is reported to be registered with.
std::vector<std::string> Registered(Node::State state, const std::string& seen,
                                    const std::string& runs) {
  Node node = MakeNode(state);
  node.mutable_observed()->set_node_profile(seen);
  std::vector<std::string> profiles;
  for (const NodeReport& report : PlanWithoutPods(node, Running(runs)).reports) {
    if (report.observation() == NodeReport::OBSERVATION_REGISTERED)
      profiles.push_back(report.node_profile());
  }
  return profiles;
}

using Profiles = std::vector<std::string>;

TEST(RunningProfile, IsToldWheneverItIsAnother) {
  for (const Node::State state :
       {Node::STATE_PRODUCTION, Node::STATE_TRIAGE, Node::STATE_CORDONED, Node::STATE_DRAINING}) {
    EXPECT_EQ(Registered(state, kDesired, kOther), Profiles{kOther}) << state;
    EXPECT_THAT(Registered(state, kOther, kOther), IsEmpty()) << state;
    EXPECT_THAT(Registered(state, kOther, ""), IsEmpty()) << state << ": it does not say";
  }
}

TEST(RunningProfile, OnArrivalIsWhatItSaysElseWhatWasDesired) {
  for (const Node::State state : {Node::STATE_ASSIGNED, Node::STATE_BOOTING}) {
    EXPECT_EQ(Registered(state, "", kOther), Profiles{kOther}) << state;
    EXPECT_EQ(Registered(state, "", ""), Profiles{kDesired}) << state;
  }
}

TEST(RunningProfile, DuringARebootIsTheOldOneUntilItIsBack) {
  EXPECT_THAT(Registered(Node::STATE_RECONFIGURING, kOther, kOther), IsEmpty());
  EXPECT_THAT(Registered(Node::STATE_RECONFIGURING, kDesired, kOther), IsEmpty())
      << "its provisioner was quicker";
  EXPECT_EQ(Registered(Node::STATE_RECONFIGURING, kOther, kDesired), Profiles{kDesired});
}

TEST(RunningProfile, OfOneThatIsGoneIsNobodysBusiness) {
  for (const Node::State state :
       {Node::STATE_PREPARED_FOR_TERMINATE, Node::STATE_DELETED, Node::STATE_DELIVERY_FAILED}) {
    EXPECT_THAT(Registered(state, kDesired, kOther), IsEmpty()) << state;
  }
}

// A reboot that is over before the cluster missed the kubelet leaves Ready as it was.
TEST(ReadyAfterReboot, IsNotTheWordOfTheBootBefore) {
  Node node = MakeNode(Node::STATE_RECONFIGURING);
  node.mutable_observed()->set_node_profile(kDesired);
  node.mutable_observed()->set_boot_id("boot-2");  // as its provisioner told
  *node.mutable_observed()->mutable_boot_time() = Stamp(kThen, 900'000'000);
  NodeObject object = Running("");
  object.boot_id = "boot-1";
  object.heartbeat_time = Then() - absl::Seconds(20);
  EXPECT_THAT(PlanWithoutPods(node, object).reports, IsEmpty());
  const auto is_ready = [&] {
    const NodePlan plan = PlanWithoutPods(node, object);
    return plan.reports.size() == 1 &&
           plan.reports[0].observation() == NodeReport::OBSERVATION_READY;
  };
  object.boot_id = "boot-2";
  EXPECT_TRUE(is_ready()) << "whatever its clock";
  object.boot_id = "boot-3";
  EXPECT_FALSE(is_ready());
  object.heartbeat_time = Then();
  EXPECT_TRUE(is_ready()) << "it was power-cycled once more, by others";
  object.boot_id = "";
  object.heartbeat_time = Then() - absl::Seconds(20);
  EXPECT_TRUE(is_ready()) << "which boot it was is not known";
}

TEST(ReadyAfterReboot, IsTakenByItsTimeWhereTheBootWasToldWithoutAnId) {
  Node node = MakeNode(Node::STATE_RECONFIGURING);
  node.mutable_observed()->set_node_profile(kDesired);
  *node.mutable_observed()->mutable_boot_time() = Stamp(kThen, 900'000'000);
  NodeObject object = Running("");
  object.boot_id = "boot-1";
  object.heartbeat_time = Then() - absl::Seconds(20);
  EXPECT_THAT(PlanWithoutPods(node, object).reports, IsEmpty());
  object.boot_id = "boot-2";
  object.heartbeat_time = Then();
  EXPECT_EQ(Observations(PlanWithoutPods(node, object)),
            std::vector<NodeReport::Observation>{kReady});
}

// The first edition's NodeCWActive.
TEST(Turned, IsToldWhenTheConditionActiveChanges) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Running("");
  EXPECT_EQ(PlanWithoutPods(node, object).turned, "Node is idle.") << "for the first time";
  object.conditions = Json::array({Json{{"type", "CWActive"}, {"status", "False"}}});
  EXPECT_EQ(PlanWithoutPods(node, object).turned, std::nullopt);
  lifecycle::v1::Condition& active = *node.mutable_conditions(1);
  active.set_status("True");
  active.set_message("Node is active: team/job-0.");
  EXPECT_EQ(PlanWithoutPods(node, object).turned, "Node is active: team/job-0.");
  object.conditions = Json::array({Json{{"type", "CWActive"}, {"status", "True"}}});
  active.set_message("Node is active: team/job-1.");
  EXPECT_EQ(PlanWithoutPods(node, object).turned, std::nullopt) << "other work is no turn";
}

// The first edition's MetadataSynced, of one Node.
TEST(MetadataState, IsPendingUntilTheNodeIsThereWithAllOfIt) {
  for (const Node::State state : {Node::STATE_ASSIGNED, Node::STATE_BOOTING, Node::STATE_REGISTERED,
                                  Node::STATE_PRODUCTION, Node::STATE_RECONFIGURING,
                                  Node::STATE_TRIAGE, Node::STATE_CORDONED, Node::STATE_DRAINING}) {
    const Node node = MakeNode(state);
    EXPECT_EQ(MetadataStateOf(node, nullptr), MetadataState::kPending) << state;
    const NodeObject bare = Running("");
    EXPECT_EQ(MetadataStateOf(node, &bare), MetadataState::kPending) << state;
  }
}

TEST(MetadataState, OfAnotherLifeIsPendingOrUnknown) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Running("");
  object.annotations[kLifeAnnotation] = "2020-01-01T00:00:00.000000Z";
  EXPECT_EQ(MetadataStateOf(node, &object), MetadataState::kPending) << "left over";
  object.annotations[kLifeAnnotation] = "2099-01-01T00:00:00.000000Z";
  EXPECT_EQ(MetadataStateOf(node, &object), MetadataState::kUnknown);
}

TEST(MetadataState, OneThatIsOffNeedsNone) {
  const NodeObject object = Running("");
  EXPECT_EQ(MetadataStateOf(MakeNode(Node::STATE_PREPARED_FOR_TERMINATE), nullptr),
            MetadataState::kNone);
  for (const Node::State state : {Node::STATE_DELETED, Node::STATE_DELIVERY_FAILED})
    EXPECT_EQ(MetadataStateOf(MakeNode(state), &object), MetadataState::kNone) << state;
}

TEST(NodePlan, ANodeSaysItselfThatItIsToGo) {
  Json json = MakeNodeJson(true);
  EXPECT_FALSE(IsToldToGo(ReadNode(json)));
  json["status"]["conditions"].push_back({{"type", "CWNodeRemoval"}, {"status", "False"}});
  EXPECT_FALSE(IsToldToGo(ReadNode(json)));
  json["status"]["conditions"].back()["status"] = "True";
  EXPECT_TRUE(IsToldToGo(ReadNode(json)));
}

// Of all that is said of a Node, nothing else ends it.
TEST(NodePlan, NoOtherConditionTellsANodeToGo) {
  Json json = MakeNodeJson(true);
  json["status"]["conditions"].push_back({{"type", "CWActive"}, {"status", "True"}});
  json["status"]["conditions"].push_back({{"type", "CWRegistered"}, {"status", "True"}});
  EXPECT_FALSE(IsToldToGo(ReadNode(json)));
}

TEST(Turned, IsToldByTheConditionActiveAlone) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Running("");
  object.conditions = Json::array({Json{{"type", "CWNodeRemoval"}, {"status", "False"}}});
  EXPECT_EQ(PlanWithoutPods(node, object).turned, "Node is idle.");
}

// Who has said nothing of its health is not unhealthy: its kubelet is yet to speak.
TEST(PlanHealth, WaitsForTheFirstWord) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Running("");
  object.ready = std::nullopt;
  EXPECT_THAT(PlanWithoutPods(node, object).reports, IsEmpty());
  node.mutable_observed()->set_unhealthy(true);
  node.mutable_observed()->set_health_message("kubelet: gone");
  EXPECT_THAT(PlanWithoutPods(node, object).reports, IsEmpty());
}

TEST(MetadataState, IsPendingWhilePartOfItIsMissing) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject whole = Running("");
  const auto take = [&](const StringMap& from, StringMap& to, std::set<std::string>& own) {
    for (const auto& [key, value] : from) {
      to[key] = value;
      own.insert(key);
    }
  };
  const auto& desired = node.desired();
  take({desired.labels().begin(), desired.labels().end()}, whole.labels, whole.own_labels);
  StringMap annotations(desired.annotations().begin(), desired.annotations().end());
  annotations[kLifeAnnotation] = LifeMark(node);
  take(annotations, whole.annotations, whole.own_annotations);
  whole.annotations[kTaintsAnnotation] = "is_gpu:PreferNoSchedule";
  whole.taints.push_back({"is_gpu", "true", "PreferNoSchedule"});
  ASSERT_EQ(MetadataStateOf(node, &whole), MetadataState::kSynced);
  NodeObject part = whole;
  part.labels["node.coreweave.cloud/state"] = "zap";
  EXPECT_EQ(MetadataStateOf(node, &part), MetadataState::kPending) << "a label of another value";
  part = whole;
  part.own_labels = {"compute.coreweave.com/node-pool", "team.example/other"};
  EXPECT_EQ(MetadataStateOf(node, &part), MetadataState::kPending) << "a label that another owns";
  part = whole;
  part.labels.erase("node.coreweave.cloud/state");
  EXPECT_EQ(MetadataStateOf(node, &part), MetadataState::kPending) << "a label that is gone";
  part = whole;
  part.taints.clear();
  EXPECT_EQ(MetadataStateOf(node, &part), MetadataState::kPending) << "a taint";
}

}  // namespace
}  // namespace muster::kubernetes
