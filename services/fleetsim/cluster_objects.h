#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/fleetsim/desired_machine.h"
#include "services/kubernetes/api/json.h"

// v1 Nodes, Pods and Leases: what fleetsim reads of them, and what it writes. Pure.
namespace muster::fleetsim {

using kubernetes::Json;

inline constexpr char kFieldManager[] = "fleetsim";

// Whether the error is about one object and not about the server, so that the next call may
// succeed.
bool IsOfObject(const absl::Status& status);

// What matters of a v1 Node. A field that is missing or of another type reads as empty.
struct NodeSeen {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  std::string life = {};  // see LifeMark; empty: none
  bool deleting = false;
  bool ready = false;
  bool unknown = false;     // Ready is Unknown: no kubelet speaks for the Node
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

// The resources that a Node with this hardware announces.
Json ResourcesOf(const Hardware& hardware);
// Whether `capacity` has the resources of `hardware`, in whatever form the server writes
// quantities; further resources do not matter.
bool HasResources(const Json& capacity, const Hardware& hardware);
// The v1 Node as its kubelet creates it.
Json NewNode(const DesiredMachine& desired, absl::Time now);
// Server-side apply on its status.
Json NodeStatus(const DesiredMachine& desired, const NodeSeen& node, absl::Time now);

// The autoscaler's taint, and the value that marks one as ours.
inline constexpr char kAutoscalerTaint[] = "ToBeDeletedByClusterAutoscaler";
inline constexpr char kOurMark[] = "fleetsim";
// A merge patch of the Node's taints, for the version that was seen only.
Json TaintsPatch(const NodeSeen& node, Json taints);
// Server-side apply: owns `unschedulable` and sets it, or no longer owns it.
Json CordonPatch(const NodeSeen& node, bool cordoned);

inline constexpr char kLeasesPath[] =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
std::string LeasePath(absl::string_view node);
// The lease of the Node of that uid, renewed; fit for a creation and, whatever the lease was, for a
// merge patch. The garbage collector deletes it with the Node, which owns it.
Json NodeLease(const std::string& node, const std::string& uid, absl::Time now);

std::string WorkPodName(absl::string_view machine, uint32_t work, int64_t index);
std::string DaemonPodName(absl::string_view machine, int64_t index);
// `grace_period`: in the cluster's time; at least a second is asked for.
Json WorkPod(absl::string_view machine, const Work& work, int64_t index,
             absl::Duration grace_period);
Json DaemonPod(absl::string_view machine, int64_t index);
// A merge patch of the Pod's status that makes it Running.
Json RunningPatch(const PodSeen& pod, absl::Time now);

}  // namespace muster::fleetsim
