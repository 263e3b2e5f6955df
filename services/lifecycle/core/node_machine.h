#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
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

// True when a Node in this state shows that the event happened before: saying so again changes
// nothing.
bool Knows(NodeState state, NodeEvent event);

// Moves the Node and all that follows from its state (desired phase, cordon, drain, why it leaves,
// what was seen of a step that is over, conditions).
// Labels and taints are metadata.h's. FAILED_PRECONDITION (NODE_STATE) when there is no such edge;
// the Node is then as it was.
absl::Status Step(Node& node, NodeEvent event, absl::Time now);

// The Node's work is to be moved away from now on, whatever is left of it by `deadline`; no longer.
void StartDrain(Desired& desired, absl::Time deadline, absl::Time now);
void StopDrain(Desired& desired);

// Makes a Node that came to another state as it was ordered to be.
void KeepOrders(Node& node);

// --- what states mean ---

// Granted, not yet in the cluster.
bool IsInProgress(NodeState state);
// In the cluster to stay.
bool IsInService(NodeState state);
// Either: it is the pool's, here or to come, and not on its way out.
bool Stays(NodeState state);
// In service, and neither on its way up nor rebooting: production or triage.
bool IsUp(NodeState state);
// Of a Node that is to reboot: it is up again, booted as it was to be.
bool IsBack(const Node& node);
// Its machine can be given back.
bool IsReturnable(NodeState state);
// How many Pods keep a Node active. Agents may name fewer than they count, and Nodes that reported
// before there was a count have names alone.
int64_t ActivePods(const Observed& observed);
// Its way out has not begun, or can be taken back: an operator may order something of it, or take that back.
bool TakesOrders(NodeState state);
// In the cluster: it registered and is not off yet.
bool IsPresent(const Node& node);
// True once the drain of its preemption began; one that had begun for another cause is not it.
bool IsDrainedForPreemption(const Node& node);

// The Node's conditions as they should be. `now` is the transition time of those whose status
// changes.
void UpdateConditions(Node& node, absl::Time now);

}  // namespace muster::lifecycle
