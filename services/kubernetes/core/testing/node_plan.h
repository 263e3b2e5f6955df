#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/testing/objects.h"

// For tests of PlanNode.
namespace muster::kubernetes {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;

inline constexpr auto kRegistered = NodeReport::OBSERVATION_REGISTERED;
inline constexpr auto kReady = NodeReport::OBSERVATION_READY;
inline constexpr auto kActive = NodeReport::OBSERVATION_ACTIVE;
inline constexpr auto kIdle = NodeReport::OBSERVATION_IDLE;
inline constexpr auto kDrained = NodeReport::OBSERVATION_DRAINED;
inline constexpr auto kUnhealthy = NodeReport::OBSERVATION_UNHEALTHY;
inline constexpr auto kRecovered = NodeReport::OBSERVATION_RECOVERED;

inline std::vector<NodeReport::Observation> Observations(const NodePlan& plan) {
  std::vector<NodeReport::Observation> observations;
  for (const NodeReport& report : plan.reports) observations.push_back(report.observation());
  return observations;
}

inline NodePlan Plan(const Node& node, const NodeObject* object, std::vector<PodObject> pods = {},
                     const std::string& blocked_by = "",
                     absl::Duration since_report = absl::InfiniteDuration()) {
  return PlanNode({.node = &node,
                   .object = object,
                   .pods = std::move(pods),
                   .blocked_by = blocked_by,
                   .since_work_report = since_report,
                   .now = Then()});
}

inline NodeObject Joined(bool ready) { return ReadNode(MakeNodeJson(ready)); }

inline std::vector<PodObject> Work(int count) {
  std::vector<PodObject> pods;
  for (int i = count; i > 0; --i)
    pods.push_back(MakePod(absl::StrCat("p", 100 + i), PodObject::Class::kGuarded));
  return pods;
}

}  // namespace muster::kubernetes
