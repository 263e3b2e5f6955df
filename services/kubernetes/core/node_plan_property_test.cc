#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/testing/objects.h"
#include "services/kubernetes/core/testing/simulated_node.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeDesired;
using lifecycle::v1::NodeReport;

// One machine, Muster's row of it and a cluster full of busybodies.
class World {
 public:
  explicit World(uint32_t seed) : random_(seed), live_(MakeNodeJson(true)) {
    node_ = MakeNode(Node::STATE_BOOTING);
  }

  void Disturb() {
    switch (Pick(9)) {
      case 0: {
        const std::string key = absl::StrCat("theirs-", Pick(3));
        const char* map = Pick(2) == 0 ? "labels" : "annotations";
        const Json value = Pick(3) == 0 ? Json() : Json(absl::StrCat(Pick(2)));
        live_.Edit("someone", {{"metadata", {{map, {{key, value}}}}}});
        foreign_[map][key] = value;
        return;
      }
      case 1:
        // Ours, changed or taken away.
        live_.Edit(
            "someone",
            {{"metadata",
              {{"labels",
                {{"compute.coreweave.com/node-pool", Pick(2) == 0 ? Json() : Json("x")}}}}}});
        return;
      case 2: {
        const bool cordons = !live_.Read().unschedulable;
        live_.Edit("kubectl", {{"spec", {{"unschedulable", cordons ? Json(true) : Json()}}}});
        return;
      }
      case 3:
        return Taint();
      case 4:
        live_.SetCondition("Ready", "status", Pick(2) == 0 ? "True" : "False");
        return;
      case 5:
        live_.SetCondition("CWActive", "reason", "Odd");
        return;
      case 6:
        return Want();
      case 7:
        return MoveWork();
      case 8:
        blocked_ = Pick(2) == 0 ? "" : "team/p0: a budget";
        return;
    }
  }

  NodePlan Plan() const {
    const NodeObject object = live_.Read();
    return PlanNode(
        {.node = &node_, .object = &object, .pods = pods_, .blocked_by = blocked_, .now = Then()});
  }

  // Carries out plans until one is empty; how many it took.
  int Converge() {
    for (int round = 0; round < 20; ++round) {
      const NodePlan plan = Plan();
      const NodePlan again = Plan();
      EXPECT_EQ(plan.apply, again.apply);
      EXPECT_EQ(plan.taints, again.taints);
      EXPECT_EQ(plan.apply_status, again.apply_status);
      EXPECT_EQ(plan.reports.size(), again.reports.size());
      EXPECT_FALSE(plan.remove);
      if (plan.reports.empty() && !plan.writes()) return round;
      if (plan.taints) {
        EXPECT_TRUE(live_.Merge(*plan.taints));
      }
      if (plan.apply) live_.Apply(*plan.apply);
      if (plan.apply_status) live_.ApplyStatus(*plan.apply_status);
      for (const NodeReport& report : plan.reports) Take(report);
    }
    return 20;
  }

  void Check() const {
    const NodeObject object = live_.Read();
    const Json json = live_.json();
    for (const char* map : {"labels", "annotations"}) {
      const auto found = foreign_.find(map);
      if (found == foreign_.end()) continue;
      for (const auto& item : found->second.items()) {
        const Json& now = json["metadata"][map];
        EXPECT_EQ(now.contains(item.key()) ? now[item.key()] : Json(), item.value());
      }
    }
    for (const auto& [key, value] : node_.desired().labels())
      EXPECT_EQ(object.labels.at(key), value);
    EXPECT_EQ(object.owns_unschedulable, node_.desired().cordoned());
    EXPECT_EQ(object.unschedulable, node_.desired().cordoned() || object.foreign_unschedulable);
    Json theirs = Json::array();
    for (const TaintObject& taint : object.taints) {
      if (taint.key.starts_with("theirs")) theirs.push_back(taint.json);
    }
    EXPECT_EQ(theirs, foreign_taints_);
    EXPECT_EQ(object.taints.size(),
              theirs.size() + static_cast<size_t>(node_.desired().taints_size()));
    EXPECT_EQ(MetadataStateOf(node_, &object), MetadataState::kSynced);
  }

 private:
  int Pick(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

  // Somebody sets one taint of his own, or takes it away, or takes one of ours.
  void Taint() {
    Json taints = Json::array();
    for (const TaintObject& taint : live_.Read().taints) taints.push_back(taint.json);
    if (Pick(3) == 0 && !taints.empty()) {
      const std::string key = taints[0]["key"];
      taints.erase(0);
      if (key.starts_with("theirs")) foreign_taints_.erase(0);
    } else {
      const Json taint = {{"key", absl::StrCat("theirs-", ++taint_)},
                          {"effect", "NoExecute"},
                          {"timeAdded", "2025-06-09T15:00:00Z"}};
      taints.insert(taints.begin(), taint);
      foreign_taints_.insert(foreign_taints_.begin(), taint);
    }
    live_.Edit("someone", {{"spec", {{"taints", taints}}}});
  }

  // Muster wants something else.
  void Want() {
    NodeDesired& desired = *node_.mutable_desired();
    switch (Pick(6)) {
      case 0:
        if (node_.state() == Node::STATE_PRODUCTION || node_.state() == Node::STATE_TRIAGE) {
          node_.set_state(Node::STATE_CORDONED);
          desired.set_cordoned(true);
        }
        return;
      case 1:
        if (node_.state() == Node::STATE_CORDONED) {
          node_.set_state(Pick(2) == 0 ? Node::STATE_DRAINING : Node::STATE_PRODUCTION);
          desired.set_drain(node_.state() == Node::STATE_DRAINING);
          desired.set_cordoned(desired.drain());
          if (!desired.cordoned()) node_.mutable_observed()->clear_cordon_time();
        }
        return;
      case 2:
        (*desired.mutable_labels())[absl::StrCat("ours-", Pick(2))] = absl::StrCat(Pick(2));
        return;
      case 3:
        desired.mutable_labels()->erase(absl::StrCat("ours-", Pick(2)));
        return;
      case 4: {
        desired.clear_taints();
        for (int i = Pick(3); i > 0; --i) {
          auto& taint = *desired.add_taints();
          taint.set_key(absl::StrCat("ours-", i));
          taint.set_effect(Pick(2) == 0 ? "NoSchedule" : "NoExecute");
          if (Pick(2) == 0) taint.set_value(absl::StrCat(Pick(2)));
        }
        return;
      }
      case 5:
        node_.mutable_conditions(1)->set_message(absl::StrCat("Node is active: ", Pick(5), "."));
        return;
    }
  }

  void MoveWork() {
    pods_.clear();
    for (int i = Pick(3); i > 0; --i)
      pods_.push_back(MakePod(absl::StrCat("p", Pick(9)), Pick(3) == 0
                                                              ? PodObject::Class::kFixed
                                                              : PodObject::Class::kGuarded));
  }

  // As the lifecycle service takes reports.
  void Take(const NodeReport& report) {
    auto& seen = *node_.mutable_observed();
    switch (static_cast<int>(report.observation())) {
      case NodeReport::OBSERVATION_REGISTERED:
        node_.set_state(Node::STATE_REGISTERED);
        seen.set_node_profile(report.node_profile());
        return;
      case NodeReport::OBSERVATION_READY:
        node_.set_state(Node::STATE_PRODUCTION);
        return;
      case NodeReport::OBSERVATION_ACTIVE:
      case NodeReport::OBSERVATION_IDLE:
        seen.set_active(report.observation() == NodeReport::OBSERVATION_ACTIVE);
        *seen.mutable_active_pods() = report.active_pods();
        seen.set_active_pod_count(report.active_pod_count());
        return;
      case NodeReport::OBSERVATION_DRAINED:
        node_.set_state(Node::STATE_PREPARED_FOR_TERMINATE);
        node_.mutable_desired()->set_drain(false);
        seen.clear_drain_blocked_by();
        return;
      case NodeReport::OBSERVATION_UNHEALTHY:
      case NodeReport::OBSERVATION_RECOVERED:
        seen.set_unhealthy(report.observation() == NodeReport::OBSERVATION_UNHEALTHY);
        seen.set_health_message(report.message());
        return;
      case NodeReport::OBSERVATION_AUTOSCALER_MARKED:
      case NodeReport::OBSERVATION_AUTOSCALER_UNMARKED:
        seen.set_autoscaler_marked(report.observation() ==
                                   NodeReport::OBSERVATION_AUTOSCALER_MARKED);
        return;
      case NodeReport::OBSERVATION_UNSCHEDULABLE:
      case NodeReport::OBSERVATION_SCHEDULABLE:
        seen.set_unschedulable(report.observation() == NodeReport::OBSERVATION_UNSCHEDULABLE);
        return;
      case NodeReport::OBSERVATION_CORDONED:
        seen.mutable_cordon_time()->set_seconds(1);
        return;
      case NodeReport::OBSERVATION_DRAIN_BLOCKED:
      case NodeReport::OBSERVATION_DRAIN_UNBLOCKED:
        seen.set_drain_blocked_by(report.message());
        return;
    }
    ADD_FAILURE() << "an adapter does not say " << report.ShortDebugString();
  }

  std::mt19937 random_;
  Node node_;
  SimulatedNode live_;
  std::vector<PodObject> pods_;
  std::string blocked_;
  std::map<std::string, Json> foreign_;
  Json foreign_taints_ = Json::array();
  int taint_ = 0;
};

TEST(PlanNodeProperty, SettlesAndLeavesForeignThingsAlone) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    World world(seed);
    for (int step = 0; step < 6; ++step) {
      for (uint32_t i = 0; i < 1 + seed % 4; ++i) world.Disturb();
      ASSERT_LT(world.Converge(), 8) << "seed " << seed;
      world.Check();
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace muster::kubernetes
