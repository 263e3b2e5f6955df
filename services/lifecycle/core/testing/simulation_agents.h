#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "services/lifecycle/core/decide.h"

// For tests: what the agents of Nodes do and say, by knobs.
namespace muster::lifecycle {

class SimAgents {
 public:
  using O = ReportNode::Observation;

  explicit SimAgents(uint64_t seed) : random_(seed) {}

  double boot_failure = 0;  // share of boots
  // Machines.
  std::set<std::string> stuck = {};       // nothing is done or said, but that it is cordoned
  std::set<std::string> silent = {};      // nor that
  std::set<std::string> boot_fails = {};  // before it registers
  std::set<std::string> registration_fails = {};  // after it registered
  std::set<std::string> staging_fails = {};
  std::set<std::string> removal_fails = {};
  std::set<std::string> busy = {};                     // work ends by force only
  std::map<std::string, std::string> blocked_by = {};  // a Pod's disruption budget

 protected:
  // One thing that the agent of this Node can report now.
  std::optional<ReportNode> NextReport(const Node& node) {
    if (MayBeCordoned(node.state) && node.desired.cordoned && node.observed.cordon_time == kNever &&
        !silent.contains(node.machine))
      return Say(node, O::kCordoned);
    if (stuck.contains(node.machine)) return std::nullopt;
    const bool run = node.desired.phase == Phase::kRunning;
    switch (node.state) {
      case NodeState::kAssigned:
        return run ? Say(node, O::kBootStarted) : std::nullopt;
      case NodeState::kBooting:
        return run ? Boot(node) : std::nullopt;
      case NodeState::kRegistered:
        return registration_fails.contains(node.machine)
                   ? Say(node, O::kBootFailed, "the kubelet does not answer")
                   : Say(node, O::kReady);
      case NodeState::kReconfiguring:
        return IsBack(node) ? Say(node, O::kReady) : Boot(node);
      case NodeState::kProduction:
        return node.desired.drain && node.observed.active ? Evict(node, O::kIdle)
                                                          : TakeProfile(node);
      case NodeState::kTriage:
        return TakeProfile(node);
      case NodeState::kDraining:
        return Evict(node, O::kDrained);
      case NodeState::kPreparedForTerminate:
        return Leave(node);
      case NodeState::kCordoned:
      case NodeState::kDeleted:
      case NodeState::kDeliveryFailed:
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static bool MayBeCordoned(NodeState state) {
    return state == NodeState::kProduction || state == NodeState::kTriage ||
           state == NodeState::kCordoned;
  }

  std::optional<ReportNode> Say(const Node& node, O observation, std::string message = "") const {
    return ReportNode{.node = node.name,
                      .observation = observation,
                      .node_profile = node.desired.node_profile,
                      .message = std::move(message)};
  }

  std::optional<ReportNode> Boot(const Node& node) {
    const bool fails = std::uniform_real_distribution<>(0, 1)(random_) < boot_failure;
    if (fails || boot_fails.contains(node.machine)) return Say(node, O::kBootFailed, "no kernel");
    auto report = Say(node, O::kRegistered);
    report->boot_id = absl::FormatTime(node.desired.phase_time, absl::UTCTimeZone());
    return report;
  }

  // Nothing moves work away for a drain without a deadline: it ends by itself.
  std::optional<ReportNode> Evict(const Node& node, O done) const {
    if (!node.observed.active) return Say(node, done);
    const auto budget = blocked_by.find(node.machine);
    const bool blocked = budget != blocked_by.end() && !node.desired.force_drain;
    const bool told = !node.observed.drain_blocked_by.empty();
    if (blocked) return told ? std::nullopt : Say(node, O::kDrainBlocked, budget->second);
    if (told && budget == blocked_by.end()) return Say(node, O::kDrainUnblocked);
    if (busy.contains(node.machine) && !node.desired.force_drain) return std::nullopt;
    if (node.desired.drain_deadline == kNever) return std::nullopt;
    return Say(node, done);
  }

  std::optional<ReportNode> TakeProfile(const Node& node) const {
    const bool fails = staging_fails.contains(node.machine) &&
                       node.desired.node_profile != node.observed.node_profile;
    const bool told = !node.observed.staging_error.empty();
    if (fails && !told) return Say(node, O::kStagingFailed, "the disk is full");
    if (!fails && told) return Say(node, O::kStaged);
    return std::nullopt;
  }

  std::optional<ReportNode> Leave(const Node& node) const {
    if (!removal_fails.contains(node.machine)) return Say(node, O::kTerminated);
    if (!node.observed.removal_error.empty()) return std::nullopt;
    return Say(node, O::kRemovalFailed, "the power does not go off");
  }

  std::mt19937_64 random_;
};

}  // namespace muster::lifecycle
