#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/types.h"

//                      kBootStarted                kRegistered                kReady
//   (granted) ASSIGNED ------------> BOOTING --------------------> REGISTERED -------> PRODUCTION
//                | |  \_______________ | ______ kRegistered _______^   |                |   ^
//       kDiscard | |                   |                               |        kCordon |   | kUn-
//                | |                   |                               |                |   | cordon
//                | |  kBootFailed, kBootTimedOut (from all three)      |                v   |
//                | +--------------> DELIVERY_FAILED -> (purged)        |               CORDONED
//                |                                                     |                | kDrain
//                |    kAbort (from all three)                          |                v
//                |  +--------------------------------------------------+             DRAINING
//                |  v                                            kDrained               |
//                | PREPARED_FOR_TERMINATE <---------------------------------------------+
//                |  | kTerminated
//                v  v
//              DELETED -> (purged)
//
//   PRODUCTION -- kReconfigure --> RECONFIGURING -- kReady --> PRODUCTION
//   RECONFIGURING -- kBootFailed, kBootTimedOut --> DELIVERY_FAILED; -- kAbort --> PREPARED...
//   PRODUCTION -- kUnhealthy --> TRIAGE -- kRecovered --> PRODUCTION
//   TRIAGE -- kReconfigure --> RECONFIGURING; -- kCordon --> CORDONED -- kUnhealthy --> TRIAGE
//   DRAINING -- kExpire --> PREPARED_FOR_TERMINATE
//
// A Node is purged when capacity has its machine back. kDiscard is for Nodes that were never told
// to boot, kAbort for those that may be booting, kExpire for a preemption's end, drained or not.
namespace muster::lifecycle {

enum class NodeEvent {
  kBootStarted,   // seen
  kBootFailed,    // seen
  kBootTimedOut,  // decided
  kRegistered,    // seen
  kReady,         // seen
  kReconfigure,   // decided
  kUnhealthy,     // seen in production, decided when it was seen before
  kRecovered,     // likewise
  kCordon,        // decided
  kUncordon,      // decided
  kDrain,         // decided
  kDrained,       // seen
  kDiscard,       // decided
  kAbort,         // decided
  kTerminated,    // seen
  kExpire,        // decided
};
inline constexpr int kNodeEvents = 16;

// As in the API: `PREPARED_FOR_TERMINATE`; `BOOT_TIMED_OUT`.
absl::string_view NodeStateName(NodeState state);
absl::string_view NodeEventName(NodeEvent event);

// Where the event leads; nullopt: there is no such edge.
std::optional<NodeState> Next(NodeState state, NodeEvent event);

// True when a Node in this state has this event behind it: reporting it again changes nothing.
bool Knows(NodeState state, NodeEvent event);

// Moves the Node along the edge, and updates all that follows from its state but labels and taints
// (metadata.h): desired phase, cordon, drain, why it leaves, what was seen of a step that is over,
// conditions. FAILED_PRECONDITION (NODE_STATE) when there is no such edge; the Node is then as it
// was.
absl::Status Step(Node& node, NodeEvent event, absl::Time now);

// StartDrain: the Node's work is to be moved away from now on, and what is left at `deadline` is to
// be deleted. StopDrain: no longer.
void StartDrain(Desired& desired, absl::Time deadline, absl::Time now);
void StopDrain(Desired& desired);

// Cordons the Node if its orders, or a reboot that it is chosen for, ask for that: to be called
// after something else has set its cordon.
void KeepOrders(Node& node);

// What was seen of a cordon that is over is no more.
void ForgetCordon(Node& node);

// Which cordon is desired, see NodeDesired.cordon_time: no earlier than the Node was last told to
// be cordoned.
absl::Time CordonDesiredTime(const Node& node);

// From when on a cordon of which the Node was told at `told` counts as carried out: when its agent
// said so, or, as long as it has not, once it has had the policy's patience.
absl::Time CordonEffectiveTime(const Node& node, absl::Time told, const Policy& policy);

// --- what states mean ---

// Granted, not yet in the cluster.
bool IsInProgress(NodeState state);
// In the cluster to stay.
bool IsInService(NodeState state);
// Either of the two: the Node is here or coming, and not on its way out.
bool Stays(NodeState state);
// In service, and neither on its way up nor rebooting: production or triage.
bool IsUp(NodeState state);
// True when a rebooting Node is up again and runs the profile that it was to boot.
bool IsBack(const Node& node);
// Its machine can be given back.
bool IsReturnable(NodeState state);
// How many Pods keep a Node active. Agents may name fewer than they count, and Nodes that reported
// before there was a count have names alone.
int64_t ActivePods(const Observed& observed);
// An operator may give the Node orders: its way out has not begun, or can still be taken back.
bool TakesOrders(NodeState state);
// In the cluster: it has registered and is not gone yet.
bool IsPresent(const Node& node);
// Its work is being moved away, on its way out or by an order. `desired.drain` alone stays set when
// the drain on its way out is over.
bool IsBeingDrained(const Node& node);
// True once the drain of its preemption has begun; a drain that began before the preemption is
// another.
bool IsDrainedForPreemption(const Node& node);

// Writes the Node's conditions. `now` becomes the transition time of those whose status changes.
void UpdateConditions(Node& node, absl::Time now);

}  // namespace muster::lifecycle
