#include "services/kubernetes/core/node_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/cut.h"
#include "services/common/report_limits.h"
#include "services/common/timestamp.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_metadata.h"
#include "services/kubernetes/core/text.h"
#include "services/rpc/client/cordon_time.h"

namespace muster::kubernetes {
namespace {

namespace v1 = lifecycle::v1;
using v1::Node;
using v1::NodeReport;

// What the Node says of itself, as far as a report may say it.
std::string Said(const std::string& text, size_t most) {
  const bool fits = text.size() <= most && text.find('\0') == std::string::npos;
  return fits ? text : "";
}

// Likewise what is said of it by others.
std::string Message(absl::string_view text) {
  std::string message = Cut(text, kMaxReportMessageBytes);
  std::replace(message.begin(), message.end(), '\0', ' ');
  return message;
}

// In the cluster and able to have work.
bool CanHaveWork(Node::State state) {
  return state == Node::STATE_PRODUCTION || state == Node::STATE_RECONFIGURING ||
         state == Node::STATE_TRIAGE || state == Node::STATE_CORDONED ||
         state == Node::STATE_DRAINING;
}

bool IsToldToRun(const Node& node) {
  return node.desired().phase() == v1::NodeDesired::PHASE_RUNNING &&
         !node.desired().node_profile().empty();
}

class Planner {
 public:
  explicit Planner(const NodeFacts& facts)
      : facts_(facts), node_(*facts.node), seen_(facts.node->observed()) {}

  NodePlan Run() && {
    if (facts_.object == nullptr) {
      PlanAbsent();
      return std::move(plan_);
    }
    int age = CompareLives(node_, *facts_.object);
    if (age != 0 && facts_.doubted) {
      plan_.keep = !IsOfItsPool() || IsOver(node_.state());
      if (plan_.keep) return std::move(plan_);
      // The same machine in the same pool: the v1 Node goes on as that Node's.
      age = 0;
    }
    if (IsTakenOver(node_, *facts_.object)) age = 0;
    if (age < 0 || (age == 0 && IsOver(node_.state()))) plan_.remove = !facts_.object->deleting;
    // A mark that is later than the Node that is known: what is known is out of date.
    if (age != 0 || IsOver(node_.state())) return std::move(plan_);
    if (PlanArrival()) return std::move(plan_);
    if (node_.state() == Node::STATE_ASSIGNED || node_.state() == Node::STATE_BOOTING)
      return std::move(plan_);
    PlanBoot();
    PlanHealth();
    PlanWork();
    PlanMarks();
    PlanCordon();
    PlanDrain();
    PlanMetadata();
    plan_.apply_status = ConditionsPatch(node_, *facts_.object);
    PlanActivity();
    return std::move(plan_);
  }

 private:
  bool IsOfItsPool() const {
    const auto uid = facts_.object->labels.find(kPoolUidLabel);
    return uid != facts_.object->labels.end() && uid->second == node_.pool_uid();
  }

  NodeReport& Report(NodeReport::Observation observation, const std::string& message = "") {
    NodeReport& report = plan_.reports.emplace_back();
    report.set_node(node_.name());
    report.set_observation(observation);
    report.set_message(Message(message));
    if (node_.has_create_time()) *report.mutable_node_create_time() = node_.create_time();
    return report;
  }

  // Gone while it should be there: nobody schedules onto it, its kubelet may be gone too.
  void PlanAbsent() {
    const Node::State state = node_.state();
    if (state == Node::STATE_DRAINING) {
      if (Work().empty() || node_.desired().force_drain()) Report(NodeReport::OBSERVATION_DRAINED);
    } else if (CanHaveWork(state) && state != Node::STATE_RECONFIGURING) {
      // Its object may come back to the work that runs there.
      if (seen_.active() && Work().empty()) Report(NodeReport::OBSERVATION_IDLE);
      if (!seen_.unhealthy()) {
        Report(NodeReport::OBSERVATION_UNHEALTHY,
               absl::StrCat(kKubeletSays, "the Node object is not in the cluster"));
      }
      if (Work().empty() || seen_.active()) PlanCordon();
    }
  }

  // True: a step forward is reported.
  bool PlanArrival() {
    const Node::State state = node_.state();
    const bool ready = facts_.object->ready.value_or(false);
    bool arrived = state == Node::STATE_REGISTERED;
    if (state == Node::STATE_ASSIGNED || state == Node::STATE_BOOTING) {
      if (!IsToldToRun(node_)) return false;
      // If the Node does not say what it runs, it is what is desired: that does not change in
      // delivery.
      ReportRegistered(RunsProfile().empty() ? node_.desired().node_profile() : RunsProfile());
      arrived = true;
    }
    const bool rebooted = state == Node::STATE_RECONFIGURING && seen_.has_boot_time() &&
                          seen_.node_profile() == node_.desired().node_profile() &&
                          !IsFromBeforeBoot();
    if (ready && (arrived || rebooted)) Report(NodeReport::OBSERVATION_READY);
    return !plan_.reports.empty();
  }

  // Whoever powers the machine has told that it is up before its kubelet posted: what the v1 Node
  // says is of the boot before.
  bool IsFromBeforeBoot() const {
    const NodeObject& object = *facts_.object;
    const bool same_boot = object.boot_id.empty() || object.boot_id == seen_.boot_id();
    // Of a boot that nobody told of, or not by its id, it has posted since; kubelets tell whole
    // seconds.
    return !same_boot && object.heartbeat_time > absl::InfinitePast() &&
           object.heartbeat_time < absl::FromUnixSeconds(seen_.boot_time().seconds());
  }

  // As the Node says; empty: it does not.
  std::string RunsProfile() const {
    const auto found = facts_.object->annotations.find(kProfileAnnotation);
    return found == facts_.object->annotations.end() ? "" : Said(found->second, kMaxProfileIdBytes);
  }

  void ReportRegistered(const std::string& profile) {
    NodeReport& report = Report(NodeReport::OBSERVATION_REGISTERED);
    report.set_node_profile(profile);
    report.set_boot_id(Said(facts_.object->boot_id, kMaxBootIdBytes));
  }

  // It may be booted by others, e.g. power-cycled, and comes up in what was staged. During a reboot
  // of ours it says what it ran before, and which boot, until it is back.
  void PlanBoot() {
    if (!CanHaveWork(node_.state())) return;
    const std::string boot = Said(facts_.object->boot_id, kMaxBootIdBytes);
    const std::string& known = seen_.boot_id();
    const bool same_boot = boot.empty() || boot == known;
    const bool reboots = node_.state() == Node::STATE_RECONFIGURING;
    if (reboots && !seen_.has_boot_time() && !boot.empty() && same_boot) return;
    std::string runs = RunsProfile();
    const bool was_rebooted = reboots && !same_boot && !known.empty();
    if (runs.empty()) runs = was_rebooted ? node_.desired().node_profile() : seen_.node_profile();
    if (runs.empty() || (runs == seen_.node_profile() && same_boot)) return;
    // Whoever powers it said so first.
    if (reboots && seen_.has_boot_time() && runs == seen_.node_profile()) return;
    if (reboots && runs != node_.desired().node_profile()) return;
    ReportRegistered(runs);
  }

  void PlanHealth() {
    const NodeObject& object = *facts_.object;
    const Node::State state = node_.state();
    if (!CanHaveWork(state) || state == Node::STATE_RECONFIGURING || !object.ready) return;
    if (!*object.ready && !seen_.unhealthy()) {
      Report(NodeReport::OBSERVATION_UNHEALTHY, absl::StrCat(kKubeletSays, object.not_ready_why));
    } else if (*object.ready && seen_.unhealthy() &&
               absl::StartsWith(seen_.health_message(), kKubeletSays)) {
      Report(NodeReport::OBSERVATION_RECOVERED);
    }
  }

  void PlanMetadata() {
    if (facts_.metadata_refused) plan_.cordon = CordonPatch(node_, *facts_.object);
    plan_.apply = MetadataPatch(node_, *facts_.object);
    // Muster may still take the Node for idle: then its taints would throw off the work that it is
    // only being told of.
    const bool untold = CanHaveWork(node_.state()) && !seen_.active() && !Work().empty();
    if (!untold) plan_.taints = TaintsPatch(node_, *facts_.object);
  }

  void PlanActivity() {
    const auto& all = node_.conditions();
    const auto is = std::find_if(all.begin(), all.end(), [](const v1::Condition& condition) {
      return condition.type() == condition::kActive;
    });
    if (is == all.end()) return;
    for (const Json& shown : facts_.object->conditions) {
      if (TextOf(MemberOf(shown, "type")) == condition::kActive &&
          TextOf(MemberOf(shown, "status")) == is->status())
        return;
    }
    plan_.turned = is->message();
  }

  std::vector<const PodObject*> Work() const {
    std::vector<const PodObject*> work;
    for (const PodObject& pod : facts_.pods) {
      if (IsWorkOn(facts_.object, pod, facts_.now)) work.push_back(&pod);
    }
    std::sort(work.begin(), work.end(),
              [](const PodObject* a, const PodObject* b) { return a->key() < b->key(); });
    return work;
  }

  void PlanWork() {
    if (!CanHaveWork(node_.state())) return;
    const std::vector<const PodObject*> work = Work();
    LookAgainAtEnds(work);
    if (work.empty()) {
      if (seen_.active()) Report(NodeReport::OBSERVATION_IDLE);
      return;
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(work.size(), kMaxActivePods); ++i)
      names.push_back(Cut(work[i]->key(), kMaxPodNameBytes));
    const auto count = std::min(static_cast<int64_t>(work.size()), kMaxActivePodCount);
    const bool same = seen_.active() && seen_.active_pod_count() == count &&
                      std::equal(names.begin(), names.end(), seen_.active_pods().begin(),
                                 seen_.active_pods().end());
    if (same) return;
    if (seen_.active() && facts_.since_work_report < kWorkInterval) {
      plan_.look_again = std::min(plan_.look_again, kWorkInterval - facts_.since_work_report);
      plan_.tells_work_later = true;
      return;
    }
    NodeReport& report = Report(NodeReport::OBSERVATION_ACTIVE);
    report.set_active_pod_count(count);
    for (std::string& name : names) report.add_active_pods(std::move(name));
  }

  // Nothing may tell when what is leaving a Node that is not ready is work no more.
  void LookAgainAtEnds(const std::vector<const PodObject*>& work) {
    for (const PodObject* pod : work) {
      if (IsWorkOn(facts_.object, *pod, pod->deletion_time)) continue;
      plan_.look_again = std::min(plan_.look_again, pod->deletion_time - facts_.now);
    }
  }

  // What others did to the v1 Node.
  void PlanMarks() {
    const NodeObject& object = *facts_.object;
    if (!CanHaveWork(node_.state()) && node_.state() != Node::STATE_REGISTERED) return;
    const bool marked = IsMarkedByAutoscaler(object);
    if (marked != seen_.autoscaler_marked()) {
      Report(marked ? NodeReport::OBSERVATION_AUTOSCALER_MARKED
                    : NodeReport::OBSERVATION_AUTOSCALER_UNMARKED);
    }
    if (object.foreign_unschedulable != seen_.unschedulable()) {
      Report(object.foreign_unschedulable ? NodeReport::OBSERVATION_UNSCHEDULABLE
                                          : NodeReport::OBSERVATION_SCHEDULABLE);
    }
  }

  // After its work, which is known to Muster then.
  void PlanCordon() {
    const Node::State state = node_.state();
    const bool stays = state == Node::STATE_PRODUCTION || state == Node::STATE_TRIAGE ||
                       state == Node::STATE_CORDONED;
    const bool closed = facts_.object == nullptr || facts_.object->unschedulable;
    if (!stays || !node_.desired().cordoned() || !closed || seen_.has_cordon_time()) return;
    NodeReport& report = Report(NodeReport::OBSERVATION_CORDONED);
    SetTimestamp(rpc::CordonTimeOf(node_), report.mutable_desired_time());
  }

  void PlanDrain() {
    // Past its drain the Node is still told that it was to be drained, and is blocked by nothing.
    if (!node_.desired().drain() || !CanHaveWork(node_.state())) return;
    const std::string why = Message(facts_.blocked_by);
    if (!why.empty() && seen_.drain_blocked_by() != why) {
      Report(NodeReport::OBSERVATION_DRAIN_BLOCKED, why);
    } else if (why.empty() && !seen_.drain_blocked_by().empty()) {
      Report(NodeReport::OBSERVATION_DRAIN_UNBLOCKED);
    }
    // Before it is cordoned something new may still come.
    const bool closed = facts_.object->unschedulable;
    if (node_.state() == Node::STATE_DRAINING && closed && Work().empty())
      Report(NodeReport::OBSERVATION_DRAINED);
  }

  const NodeFacts& facts_;
  const Node& node_;
  const v1::NodeObserved& seen_;
  NodePlan plan_;
};

}  // namespace

bool IsOver(Node::State state) {
  return state == Node::STATE_DELETED || state == Node::STATE_DELIVERY_FAILED;
}

int CompareLives(const Node& node, const NodeObject& object) {
  const auto mark = object.annotations.find(kLifeAnnotation);
  return mark == object.annotations.end() ? 0 : mark->second.compare(LifeMark(node));
}

bool IsTakenOver(const Node& node, const NodeObject& object) {
  return CompareLives(node, object) < 0 && IsToldToRun(node) &&
         object.heartbeat_time > TimeOf(node.create_time());
}

NodePlan PlanNode(const NodeFacts& facts) {
  if (facts.node == nullptr) return {};
  return Planner(facts).Run();
}

bool IsWorkOn(const NodeObject* object, const PodObject& pod, absl::Time now) {
  const bool confirmed =
      object == nullptr || (object->name == pod.node && object->ready.value_or(false));
  return pod.IsWork() && (confirmed || !pod.deleting || now < pod.deletion_time);
}

bool SaysNoWork(const Node& node, const NodeObject* object, const NodePlan& plan) {
  const auto says = [&](NodeReport::Observation observation) {
    return std::any_of(plan.reports.begin(), plan.reports.end(), [&](const NodeReport& report) {
      return report.observation() == observation;
    });
  };
  const bool idle = says(NodeReport::OBSERVATION_IDLE);
  if (says(NodeReport::OBSERVATION_DRAINED) && !node.desired().force_drain()) return true;
  // With a cordon all that came before it is told.
  if (says(NodeReport::OBSERVATION_CORDONED))
    return idle || (!node.observed().active() && !says(NodeReport::OBSERVATION_ACTIVE));
  return object == nullptr && idle;
}

void TakeBackUnconfirmed(const NodeObject* object, NodePlan& plan) {
  std::erase_if(plan.reports, [&](const NodeReport& report) {
    const auto kind = report.observation();
    return object == nullptr || kind == NodeReport::OBSERVATION_DRAINED ||
           kind == NodeReport::OBSERVATION_CORDONED || kind == NodeReport::OBSERVATION_IDLE;
  });
}

bool IsMarkedByAutoscaler(const NodeObject& object) {
  return std::any_of(object.taints.begin(), object.taints.end(),
                     [](const TaintObject& taint) { return taint.key == kAutoscalerTaint; });
}

std::string OrphanName(const NodeObject& object, absl::string_view machine) {
  const auto pool = object.labels.find(kPoolLabel);
  if (pool == object.labels.end() || !object.own_labels.contains(kPoolLabel)) return "";
  return absl::StrCat("nodePools/", pool->second, "/nodes/", machine);
}

bool IsUnknown(const Node* node, const NodeObject& object) {
  if (object.deleting || OrphanName(object, "").empty()) return false;
  return node == nullptr || CompareLives(*node, object) != 0;
}

bool IsToldToGo(const NodeObject& object) {
  return std::any_of(object.conditions.begin(), object.conditions.end(), [](const Json& it) {
    return TextOf(MemberOf(it, "type")) == condition::kNodeRemoval &&
           TextOf(MemberOf(it, "status")) == condition_status::kTrue;
  });
}

MetadataState MetadataStateOf(const Node& node, const NodeObject* object) {
  if (IsOver(node.state())) return MetadataState::kNone;
  if (object == nullptr) {
    const bool left = node.state() == Node::STATE_PREPARED_FOR_TERMINATE;
    return left ? MetadataState::kNone : MetadataState::kPending;
  }
  // One of an earlier life is about to go, or to be marked anew.
  const int age = CompareLives(node, *object);
  if (age != 0) return age < 0 ? MetadataState::kPending : MetadataState::kUnknown;
  return MetadataPatch(node, *object) || TaintsPatch(node, *object) ? MetadataState::kPending
                                                                    : MetadataState::kSynced;
}

}  // namespace muster::kubernetes
