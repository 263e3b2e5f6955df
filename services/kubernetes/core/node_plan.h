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
  // On that v1 Node, whether it is in the cluster or not, and on others that the machine has or
  // had.
  std::vector<PodObject> pods = {};
  // Pods whose eviction disruption budgets refused, with what the server said; empty: none.
  std::string blocked_by = {};
  // Since its work was last reported; names and counts of work are told again after kWorkInterval.
  absl::Duration since_work_report = absl::InfiniteDuration();
  // The v1 Node is of another life than Muster's Node, but that is not believed: Muster's history
  // is not accepted, or the brake holds the removal (services/kubernetes/history.h, brake.h).
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
  // Server-side apply of the cordon alone, to be tried first: what is refused beside it must not
  // hold it up.
  std::optional<Json> cordon = {};
  // The message to tell if the v1 Node so far shows otherwise whether it has work.
  std::optional<std::string> turned = {};
  bool remove = false;  // the v1 Node is to be deleted
  bool keep = false;    // it would be, if facts.doubted were false
  // When to look again although nothing changed; infinite: no need.
  absl::Duration look_again = absl::InfiniteDuration();

  // Its work has changed, and that is to be reported at `look_again` only: what was reported before
  // may not have been sent yet.
  bool tells_work_later = false;

  bool writes() const { return apply || taints || apply_status || remove; }
};

// What follows for one machine. Pure. Level-triggered: the same facts give the same plan, and one
// that was carried out gives an empty one.
NodePlan PlanNode(const NodeFacts& facts);

// Whether the Node's machine is off or given up, and only has to be taken back: a v1 Node has
// nothing behind it.
bool IsOver(lifecycle::v1::Node::State state);

// Whether the Pod is work of the machine; `object`: its v1 Node, null: there is none. Where that is
// not ready, or not the Pod's (the machine has several), nobody may be left to confirm the end of a
// Pod that is leaving: it is none once its grace is over.
bool IsWorkOn(const NodeObject* object, const PodObject& pod, absl::Time now);

// Whether the plan reports that no work is left on a Node that is absent, or whose machine will be
// switched off or rebooted because of that: it has to be looked up anew first. Not so for a forced
// drain, which ends whatever is left.
bool SaysNoWork(const lifecycle::v1::Node& node, const NodeObject* object, const NodePlan& plan);
// Takes out of the plan what could not be confirmed: of an absent Node all reports, else those that
// say that no work is left.
void TakeBackUnconfirmed(const NodeObject* object, NodePlan& plan);

// Compares the life of the machine that the v1 Node is marked with to that of Muster's Node. 0: the
// same, or not marked yet; negative: the v1 Node is left over from an earlier life, unless it is
// taken over; positive: Muster's Node is out of date.
int CompareLives(const lifecycle::v1::Node& node, const NodeObject& object);

// Whether the kubelet of this life posts to a v1 Node of an earlier life, so that this must stay:
// the kubelet found it at its start, and would not make another one if it went. The mark is old
// until the first patch.
//
// This holds the kubelet's clock against the database's. It only matters where the v1 Node outlived
// its life, which it does while no adapter works. A clock that is behind by less than the machine
// takes to boot changes nothing; by more, the v1 Node goes under its kubelet, the boot times out,
// and another machine comes. With one that is ahead, the last post before the machine went off may
// count as of this life, if the machine was given anew within that time: the Node is then
// registered too early, or even ready, until the node controller has missed the kubelet (less than
// a minute). It takes no Pods from then on and is unhealthy until it has booted.
bool IsTakenOver(const lifecycle::v1::Node& node, const NodeObject& object);

// The Muster Node that a v1 Node is according to our pool label, by its name below the cluster's:
// `nodePools/{pool}/nodes/{machine}`. Empty: the v1 Node does not bear our label. One that does is
// to be deleted once Muster has confirmed that it has no such Node.
std::string OrphanName(const NodeObject& object, absl::string_view machine);

// Whether the v1 Node is ours, is not being deleted, and Muster's Node is of another life, or null.
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

// How the adapter's reports of Nodes that are not ready begin: it reports a recovery only from what
// it reported itself.
inline constexpr char kKubeletSays[] = "kubelet: ";

}  // namespace muster::kubernetes
