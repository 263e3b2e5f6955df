#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {

// One machine, from both sides.
struct NodeFacts {
  const lifecycle::v1::Node* node = nullptr;  // Muster's; null: no pool has the machine
  const NodeObject* object = nullptr;         // v1; null: it is not in the cluster
  // On it, whether it is in the cluster or not, and on others that the machine has there or had.
  std::vector<PodObject> pods = {};
  // Pods whose eviction disruption budgets refused, with what the server said; empty: none.
  std::string blocked_by = {};
  // Since its work was last reported; names and counts of work are told again after kWorkInterval.
  absl::Duration since_work_report = absl::InfiniteDuration();
  // Muster's history is not accepted, and did not know this v1 Node so far: of which life that is
  // proves nothing (services/kubernetes/history.h).
  bool doubted = false;
  // The API server refused its labels, annotations or taints when they were written last.
  bool metadata_refused = false;
  absl::Time now = absl::InfinitePast();
};

// Work that stays work is told of again no more often than this.
inline constexpr absl::Duration kWorkInterval = absl::Seconds(15);

// What is to be written to a v1 Node. Bodies of PATCH requests.
struct NodePlan {
  // For ReportNodes, in order. While a report that moves the Node on is due, nothing is written:
  // its metadata is about to change.
  std::vector<lifecycle::v1::NodeReport> reports = {};
  std::optional<Json> apply = {};         // server-side apply: labels, annotations, unschedulable
  std::optional<Json> taints = {};        // merge patch, on the resourceVersion that was seen
  std::optional<Json> apply_status = {};  // server-side apply: our conditions
  // Server-side apply of the cordon alone, to be tried first: what is refused beside it must not hold
  // it up.
  std::optional<Json> cordon = {};
  // The v1 Node shows otherwise whether it has work; what is to be told of that.
  std::optional<std::string> turned = {};
  bool remove = false;  // the v1 Node is to be deleted
  bool keep = false;    // it would be, were Muster not doubted
  // When to look again although nothing changed; infinite: no need.
  absl::Duration look_again = absl::InfiniteDuration();

  bool writes() const { return apply || taints || apply_status || remove; }
};

// What follows for one machine. Pure. Level-triggered: the same facts give the same plan, and one
// that was carried out gives an empty one.
NodePlan PlanNode(const NodeFacts& facts);

// Whether the Pod is work of the machine; `object`: its v1 Node, null: there is none. Where that is
// not ready, or not the Pod's (the machine has several), nobody may be left to confirm the end of a
// Pod that is leaving: it is none once its grace is over.
bool IsWorkOn(const NodeObject* object, const PodObject& pod, absl::Time now);

// Whether its reports say that no work is left on the Node, of one that is away or whose machine is
// switched off because of it: that is to be looked up anew. Not so once a drain is forced: it ends
// whatever is left.
bool SaysNoWork(const lifecycle::v1::Node& node, const NodeObject* object, const NodePlan& plan);

// Of the v1 Node against Muster's: 0 the same life of the machine, or not marked yet; negative: the
// v1 Node is left over from an earlier one, unless it is taken over; positive: Muster's Node is out
// of date.
int CompareLives(const lifecycle::v1::Node& node, const NodeObject& object);

// Of a v1 Node of an earlier life: the kubelet of this one posts there, so that it is to stay. The
// kubelet found it at its start, and makes none of its own once that is gone. The mark is old until
// the first patch.
bool IsTakenOver(const lifecycle::v1::Node& node, const NodeObject& object);

// A v1 Node that bears our pool label although Muster has no such Node: to be deleted once Muster
// has confirmed it. Empty, or the Muster Node's name below the cluster's:
// `nodePools/{pool}/nodes/{machine}`.
std::string OrphanName(const NodeObject& object, absl::string_view machine);

// Ours, and not what Muster's Node is about: there is none (null), or of another life.
bool IsUnknown(const lifecycle::v1::Node* node, const NodeObject& object);

// Muster has said before, on the v1 Node, that it is to go.
bool IsToldToGo(const NodeObject& object);

// Whether labels, annotations, taints and unschedulable of its v1 Node are as Muster wants them.
enum class MetadataState {
  kSynced,
  kPending,  // not all, or the v1 Node is not there yet
  kUnknown,  // the v1 Node may be another one's
  kNone,     // it has no v1 Node any more, and needs none
};
// `object`: null, there is none.
MetadataState MetadataStateOf(const lifecycle::v1::Node& node, const NodeObject* object);

// Whether the cluster autoscaler chose the Node as a victim, by its taint.
bool IsMarkedByAutoscaler(const NodeObject& object);

// What an adapter that finds a Node not ready says of it: its own word is the only one that it
// takes back.
inline constexpr char kKubeletSays[] = "kubelet: ";

}  // namespace muster::kubernetes
