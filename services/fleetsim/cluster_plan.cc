#include "services/fleetsim/cluster_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::fleetsim {
namespace {

// Containers that have no more time than this are gone at once.
constexpr absl::Duration kAtOnce = absl::Seconds(1);

class Planner {
 public:
  Planner(const MachineFacts& facts, const KubeletOptions& options)
      : facts_(facts), desired_(*facts.desired), options_(options) {}

  ClusterPlan Run() && {
    if (desired_.power == DesiredMachine::Power::kOff && facts_.node == nullptr) {
      for (const PodSeen* pod : facts_.pods) Finish(*pod);
      return std::move(plan_);
    }
    if (!IsSilent(desired_)) {
      for (const PodSeen* pod : facts_.pods) Tend(*pod);
    }
    if (desired_.power == DesiredMachine::Power::kOff) return std::move(plan_);
    if (PlanNode()) {
      PlanMark();
      PlanCordon();
      if (desired_.power != DesiredMachine::Power::kRebooting) PlanDaemons();
      PlanWork();
    }
    return std::move(plan_);
  }

 private:
  using Verb = ClusterCall::Verb;

  void Call(Verb verb, std::string path, Json body) {
    plan_.calls.push_back({verb, std::move(path), std::move(body)});
  }

  // Deletes a Pod whose containers have ended.
  void Finish(const PodSeen& pod) {
    // That was done before: the Pod is there only for its finalizers.
    if (pod.deleting && pod.held && pod.grace_period == absl::ZeroDuration()) return;
    Call(Verb::kDelete, pod.path(),
         {{"apiVersion", "v1"},
          {"kind", "DeleteOptions"},
          {"gracePeriodSeconds", 0},
          {"preconditions", {{"uid", pod.uid}}}});
  }

  // What a living kubelet does for every Pod on its Node, whoever made the Pod.
  void Tend(const PodSeen& pod) {
    if (!pod.deleting) {
      if (pod.pending && facts_.node != nullptr)
        Call(Verb::kMerge, absl::StrCat(pod.path(), "/status"), RunningPatch(pod, facts_.now));
      return;
    }
    const absl::Time end = pod.grace_period <= kAtOnce ? absl::InfinitePast()
                                                       : pod.deletion_time - pod.grace_period +
                                                             pod.grace_period / options_.speed;
    if (end <= facts_.now) {
      Finish(pod);
    } else {
      plan_.look_again = std::min(plan_.look_again, end);
    }
  }

  // Brings the v1 Node to what is desired. False: there is none yet on which the plan could go on.
  bool PlanNode() {
    const bool runs = desired_.power != DesiredMachine::Power::kRebooting;
    if (facts_.node == nullptr) {
      if (runs) Call(Verb::kCreate, "/api/v1/nodes", NewNode(desired_, facts_.now));
      return false;
    }
    const NodeSeen& node = *facts_.node;
    const std::string mark = LifeMark(desired_);
    const bool earlier = !node.life.empty() && node.life < mark;
    if (node.deleting || (earlier && desired_.power == DesiredMachine::Power::kArriving))
      return false;
    // Muster already takes this v1 Node for the machine's present life.
    if (earlier && runs) {
      Call(Verb::kMerge, NodePath(node.name),
           {{"metadata", {{"uid", node.uid}, {"annotations", {{kLifeAnnotation, mark}}}}}});
    }
    if (!HasResources(node.capacity, desired_.hardware) || !IsSaid()) {
      Call(Verb::kApply, absl::StrCat(NodePath(node.name), "/status"),
           NodeStatus(desired_, node, facts_.now));
    }
    return true;
  }

  // Whether the Node's status says what it should. While the kubelet is silent, the node
  // controller's word (Unknown) stands.
  bool IsSaid() const {
    const NodeSeen& node = *facts_.node;
    // The boot id counts too: a reboot may be over before anybody saw that it began.
    return (node.ready == desired_.ready && node.reason == desired_.reason &&
            node.boot_id == desired_.boot_id) ||
           (IsSilent(desired_) && node.unknown);
  }

  void PlanMark() {
    Json rest = Json::array();
    bool any = false;
    bool ours = false;
    for (const Json& taint : facts_.node->taints) {
      const bool mark = taint.value("key", "") == kAutoscalerTaint;
      const bool our = mark && taint.value("value", "") == kOurMark;
      any |= mark;
      ours |= our;
      if (!our) rest.push_back(taint);
    }
    const bool begins = desired_.mark == DesiredMachine::Change::kBegin && !any;
    if (begins) {
      rest.push_back(
          Json::object({{"key", kAutoscalerTaint}, {"value", kOurMark}, {"effect", "NoSchedule"}}));
    }
    if (begins || (desired_.mark == DesiredMachine::Change::kEnd && ours))
      Call(Verb::kMerge, NodePath(facts_.node->name), TaintsPatch(*facts_.node, std::move(rest)));
  }

  void PlanCordon() {
    const bool cordoned = facts_.node->cordoned;
    const bool begins = desired_.cordon == DesiredMachine::Change::kBegin && !cordoned;
    if (begins || (desired_.cordon == DesiredMachine::Change::kEnd && cordoned))
      Call(Verb::kApply, NodePath(facts_.node->name), CordonPatch(*facts_.node, begins));
  }

  bool HasPod(const std::string& name) const {
    return std::any_of(facts_.pods.begin(), facts_.pods.end(), [&](const PodSeen* pod) {
      return pod->name == name && pod->name_space == options_.pod_namespace;
    });
  }

  void PlanDaemons() {
    for (int64_t i = 0; i < options_.daemon_pods; ++i) {
      if (!HasPod(DaemonPodName(desired_.machine, i)))
        Call(Verb::kCreate, PodsPath(options_.pod_namespace), DaemonPod(desired_.machine, i));
    }
  }

  void PlanWork() {
    switch (desired_.work) {
      case DesiredMachine::Change::kLeave:
        return;
      case DesiredMachine::Change::kEnd:
        for (const PodSeen* pod : facts_.pods) {
          const bool in_plan =
              std::any_of(plan_.calls.begin(), plan_.calls.end(), [&](const ClusterCall& call) {
                return call.verb == Verb::kDelete && call.path == pod->path();
              });
          if (pod->work && !in_plan) Finish(*pod);
        }
        return;
      case DesiredMachine::Change::kBegin:
        if (!HasOtherWork()) BeginWork();
        return;
    }
  }

  // Whether the Node has work with another number: begun before a restart, in which fleetsim lost
  // count.
  bool HasOtherWork() const {
    const std::string ours =
        absl::StrCat("work-", desired_.machine, "-", desired_.new_work.number, "-");
    return std::any_of(facts_.pods.begin(), facts_.pods.end(), [&](const PodSeen* pod) {
      return pod->work && !pod->deleting && pod->name.compare(0, ours.size(), ours) != 0;
    });
  }

  void BeginWork() {
    const Work& work = desired_.new_work;
    for (int64_t i = 0; i < work.pods; ++i) {
      if (HasPod(WorkPodName(desired_.machine, work.number, i))) continue;
      Call(Verb::kCreate, PodsPath(options_.pod_namespace),
           WorkPod(desired_.machine, work, i, work.grace_period * options_.speed));
    }
  }

  const MachineFacts& facts_;
  const DesiredMachine& desired_;
  const KubeletOptions& options_;
  ClusterPlan plan_;
};

}  // namespace

ClusterPlan PlanCluster(const MachineFacts& facts, const KubeletOptions& options) {
  if (facts.desired == nullptr) return {};
  return Planner(facts, options).Run();
}

}  // namespace muster::fleetsim
