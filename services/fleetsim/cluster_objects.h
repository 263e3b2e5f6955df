#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/fleetsim/desired_machine.h"
#include "services/kubernetes/api/json.h"

// v1 Nodes and Pods: what matters of those at the API server, and those that we write. Pure.
namespace muster::fleetsim {

using kubernetes::Json;

inline constexpr char kFieldManager[] = "fleetsim";

// The error is about one object, not about the server: the next call may do better.
bool IsOfObject(const absl::Status& status);

// What is missing or of another type reads as empty.
struct NodeSeen {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  std::string life = {};  // see LifeMark; empty: none
  bool deleting = false;
  bool ready = false;
  bool unknown = false;     // whether it is: nobody speaks for it
  std::string reason = {};  // of the condition Ready
  std::string boot_id = {};
  Json capacity = {};  // null: the status was never set
  Json taints = Json::array();
  bool cordoned = false;  // unschedulable, and we said so

  std::pair<std::string, std::string> key() const { return {name, ""}; }
};

struct PodSeen {
  std::string name_space = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  std::string node = {};
  bool work = false;     // ours, and counts as work
  bool pending = false;  // not running yet
  bool deleting = false;
  absl::Time deletion_time = absl::InfinitePast();     // when its grace period ends
  absl::Duration grace_period = absl::ZeroDuration();  // of its deletion
  bool held = false;                                   // by finalizers

  std::pair<std::string, std::string> key() const { return {node, path()}; }
  std::string path() const;
};

NodeSeen ReadNode(const Json& object);
PodSeen ReadPod(const Json& object);

// The annotation by which a v1 Node tells for which life of the machine it was created.
inline constexpr char kLifeAnnotation[] = "fleetsim.muster/node-create-time";
std::string LifeMark(const DesiredMachine& desired);

std::string NodePath(absl::string_view machine);
std::string PodsPath(absl::string_view name_space);

// What the machine has.
Json ResourcesOf(const Hardware& hardware);
// Whether a Node says so, in whatever form the server writes quantities. What others put beside it
// is theirs.
bool HasResources(const Json& capacity, const Hardware& hardware);
// The v1 Node as its kubelet creates it.
Json NewNode(const DesiredMachine& desired, absl::Time now);
// Server-side apply on its status.
Json NodeStatus(const DesiredMachine& desired, const NodeSeen& node, absl::Time now);

// What marks a taint of the autoscaler's as ours.
inline constexpr char kAutoscalerTaint[] = "ToBeDeletedByClusterAutoscaler";
inline constexpr char kOurMark[] = "fleetsim";
// A merge patch, on the version that was seen.
Json TaintsPatch(const NodeSeen& node, Json taints);
// Server-side apply: takes part in unschedulable, or no longer.
Json CordonPatch(const NodeSeen& node, bool cordoned);

inline constexpr char kLeasesPath[] =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
std::string LeasePath(absl::string_view node);
// The lease of the Node of that uid, renewed; as a merge patch it does not mind what was there. Who
// collects garbage takes it away with the Node.
Json NodeLease(const std::string& node, const std::string& uid, absl::Time now);

std::string WorkPodName(absl::string_view machine, uint32_t work, int64_t index);
std::string DaemonPodName(absl::string_view machine, int64_t index);
// `grace_period` in the time of the cluster; at least a second.
Json WorkPod(absl::string_view machine, const Work& work, int64_t index,
             absl::Duration grace_period);
Json DaemonPod(absl::string_view machine, int64_t index);
// A merge patch of its status: it runs.
Json RunningPatch(const PodSeen& pod, absl::Time now);

}  // namespace muster::fleetsim
