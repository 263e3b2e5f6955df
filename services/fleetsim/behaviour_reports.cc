// What of a Node's life is reported to Muster, and how.
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/timestamp.h"
#include "services/fleetsim/behaviour.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;

NodeReport::Observation ObservationOf(Action action) {
  switch (action) {
    case Action::kStartBoot:
      return NodeReport::OBSERVATION_BOOT_STARTED;
    case Action::kFinishBoot:
      return NodeReport::OBSERVATION_REGISTERED;
    case Action::kReady:
      return NodeReport::OBSERVATION_READY;
    case Action::kStartWork:
      return NodeReport::OBSERVATION_ACTIVE;
    case Action::kFinishWork:
      return NodeReport::OBSERVATION_IDLE;
    case Action::kFail:
      return NodeReport::OBSERVATION_UNHEALTHY;
    case Action::kRecover:
      return NodeReport::OBSERVATION_RECOVERED;
    case Action::kMark:
      return NodeReport::OBSERVATION_AUTOSCALER_MARKED;
    case Action::kUnmark:
      return NodeReport::OBSERVATION_AUTOSCALER_UNMARKED;
    case Action::kCordon:
      return NodeReport::OBSERVATION_UNSCHEDULABLE;
    case Action::kUncordon:
      return NodeReport::OBSERVATION_SCHEDULABLE;
    case Action::kBlockDrain:
      return NodeReport::OBSERVATION_DRAIN_BLOCKED;
    case Action::kUnblockDrain:
      return NodeReport::OBSERVATION_DRAIN_UNBLOCKED;
    case Action::kDrained:
      return NodeReport::OBSERVATION_DRAINED;
    case Action::kFailStaging:
      return NodeReport::OBSERVATION_STAGING_FAILED;
    case Action::kStage:
      return NodeReport::OBSERVATION_STAGED;
    case Action::kFailRemoval:
      return NodeReport::OBSERVATION_REMOVAL_FAILED;
    case Action::kTerminated:
      return NodeReport::OBSERVATION_TERMINATED;
    case Action::kTellCordon:
      return NodeReport::OBSERVATION_CORDONED;
    case Action::kNone:
      break;
  }
  return NodeReport::OBSERVATION_UNSPECIFIED;
}

}  // namespace

bool Behaviour::IsReported(const Life& life, Action action) const {
  if (!life.kubernetes) return true;
  switch (action) {
    case Action::kFinishBoot:
      return life.view.state == Node::STATE_RECONFIGURING || BootFails(life);
    case Action::kStartBoot:
    case Action::kFailStaging:
    case Action::kStage:
    case Action::kFailRemoval:
    case Action::kTerminated:
      return true;
    case Action::kNone:
    case Action::kReady:
    case Action::kStartWork:
    case Action::kFinishWork:
    case Action::kFail:
    case Action::kRecover:
    case Action::kMark:
    case Action::kUnmark:
    case Action::kCordon:
    case Action::kUncordon:
    case Action::kBlockDrain:
    case Action::kUnblockDrain:
    case Action::kDrained:
    case Action::kTellCordon:
      break;
  }
  return false;
}

std::vector<NodeReport> Behaviour::Reports(absl::string_view name, const Life& life,
                                           Action action) const {
  if (action == Action::kNone) return {};
  NodeReport report;
  report.set_node(std::string(name));
  report.set_observation(ObservationOf(action));
  if (life.view.create_time != absl::InfinitePast()) {
    SetTimestamp(life.view.create_time, report.mutable_node_create_time());
  }
  std::vector<NodeReport> reports;
  if (action == Action::kFinishBoot && BootFails(life)) {
    report.set_observation(NodeReport::OBSERVATION_BOOT_FAILED);
    report.set_message("no answer from the machine after it was switched on (simulated)");
  } else if (action == Action::kStartBoot || action == Action::kFinishBoot) {
    report.set_node_profile(life.view.profile);
    if (action == Action::kFinishBoot)
      report.set_boot_id(BootIdOf(life.view.create_time, life.view.phase_time));
  } else if (action == Action::kStartWork) {
    const Work work = WorkOf(life);
    report.add_active_pods(absl::StrCat("work-", life.machine, "-", work.number));
    report.set_active_pod_count(work.pods);
  } else if (action == Action::kFail) {
    report.set_message(kFailure);
  } else if (action == Action::kBlockDrain) {
    report.set_message(absl::StrCat("budget-", life.machine, " (simulated)"));
  } else if (action == Action::kFailStaging) {
    report.set_message("the image could not be fetched (simulated)");
  } else if (action == Action::kFailRemoval) {
    report.set_message("no answer from the machine's controller (simulated)");
  } else if (action == Action::kTellCordon) {
    SetTimestamp(life.view.cordon_time, report.mutable_desired_time());
  } else if (action == Action::kDrained && life.has(Trait::kActive)) {
    reports.push_back(report);
    reports.back().set_observation(NodeReport::OBSERVATION_IDLE);
  }
  reports.push_back(std::move(report));
  return reports;
}

}  // namespace muster::fleetsim
