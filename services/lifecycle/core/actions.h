#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "services/common/event_reasons.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/types.h"

// The steps of a plan, carried out in its order. Each says why. Events of Nodes are no actions:
// they follow from the change of the Node itself (node_events.h).
namespace muster::lifecycle {

// A granted machine becomes a Node. With a profile it is told to boot at once.
struct AssignNode {
  std::string machine = {};
  std::string rack = {};
  std::string node_profile = {};
  bool gpu = false;
  std::string reason = {};
  absl::Time request_time = kNever;  // of the machine; kNever: not known
  absl::Time grant_time = kNever;    // likewise
  bool operator==(const AssignNode&) const = default;
};

// The Node's machine stands in another rack than it did.
struct SetRack {
  std::string node = {};
  std::string rack = {};
  std::string reason = {};
  bool operator==(const SetRack&) const = default;
};

// The Node has its machine by another grant than it knows: capacity or lifecycle was restored to a
// past.
struct SetGrantTime {
  std::string node = {};
  absl::Time grant_time = kNever;
  std::string reason = {};
  bool operator==(const SetGrantTime&) const = default;
};

// An assigned Node is told to boot.
struct OrderBoot {
  std::string node = {};
  std::string node_profile = {};
  std::string reason = {};
  bool operator==(const OrderBoot&) const = default;
};

// A Node goes along an edge of its machine. `cause`: read where the way out begins (kCordon,
// kAbort, kDiscard). `drain_deadline`: read for kDrain. `node_profile`: read for kReconfigure.
// `counts`: read for kBootTimedOut, it counts as a failure of what was booted.
struct StepNode {
  std::string node = {};
  NodeEvent event = NodeEvent::kCordon;
  RemovalCause cause = RemovalCause::kNone;
  absl::Time drain_deadline = kNever;
  std::string node_profile = {};
  std::string reason = {};
  bool counts = true;
  bool operator==(const StepNode&) const = default;
};

// A drain under way gets a deadline.
struct SetDrainDeadline {
  std::string node = {};
  absl::Time drain_deadline = kNever;
  std::string reason = {};
  bool operator==(const SetDrainDeadline&) const = default;
};

// A drain under way begins anew, as a preemption's. Its deadline stays.
struct RestartDrain {
  std::string node = {};
  std::string reason = {};
  bool operator==(const RestartDrain&) const = default;
};

// A drain's deadline has passed: what is left is to be deleted.
struct ForceDrain {
  std::string node = {};
  std::string reason = {};
  bool operator==(const ForceDrain&) const = default;
};

// The Node's machine is to be preempted since `time`; kNever: no longer.
struct SetPreemption {
  std::string node = {};
  absl::Time time = kNever;
  std::string reason = {};
  bool operator==(const SetPreemption&) const = default;
};

// A replacement of the Node is asked for before it leaves, or no longer.
struct AskReplacement {
  std::string node = {};
  bool asked = true;
  std::string reason = {};
  bool operator==(const AskReplacement&) const = default;
};

// A running Node is to boot into the profile when it boots next.
struct StageProfile {
  std::string node = {};
  std::string node_profile = {};
  std::string reason = {};
  bool operator==(const StageProfile&) const = default;
};

// A Node in production or triage is chosen for a reboot, or let go again. A chosen Node is
// cordoned, and with `drain` its work is moved away.
struct ChooseForReboot {
  std::string node = {};
  bool chosen = true;
  bool drain = false;
  absl::Time drain_deadline = kNever;
  std::string reason = {};
  bool operator==(const ChooseForReboot&) const = default;
};

// Work is moved away from a Node that stays.
struct DrainInPlace {
  std::string node = {};
  absl::Time drain_deadline = kNever;
  std::string reason = {};
  bool operator==(const DrainInPlace&) const = default;
};

// Labels, annotations and taints are to be as the spec has them now.
struct RefreshMetadata {
  std::string node = {};
  bool gpu = false;
  std::string reason = {};
  bool operator==(const RefreshMetadata&) const = default;
};

// The machine was given back: the Node's row goes.
struct PurgeNode {
  std::string node = {};
  std::string reason = {};
  bool operator==(const PurgeNode&) const = default;
};

// What was agreed on with the other services, and what of their news was told. `account`: its
// generation, removed_nodes, boot_failures and scaled_to are not read, other actions set them.
struct SetAccount {
  PoolAccount account = {};
  std::string reason = {};
  bool operator==(const SetAccount&) const = default;
};

// A service knows later requests of the pool than the pool's row, which was restored to a past: the
// generations go on above these. 0: it stays as it is.
struct RaiseGeneration {
  int64_t account = 0;  // of what is asked of quota and capacity
  int64_t pool = 0;     // of the pool, and of what is asked of configuration
  std::string reason = {};
  bool operator==(const RaiseGeneration&) const = default;
};

struct SetReconfiguration {
  Reconfiguration::State state = Reconfiguration::State::kDone;
  std::string halt_reason = {};  // kHalted: for people
  std::string reason = {};
  bool operator==(const SetReconfiguration&) const = default;
};

struct SetStatus {
  Status status = {};
  std::string reason = {};
  bool operator==(const SetStatus&) const = default;
};

// About the pool.
struct EmitEvent {
  EventReason event = {};
  std::string message = {};
  bool operator==(const EmitEvent&) const = default;
};

// The pool's row goes.
struct RemovePool {
  std::string reason = {};
  bool operator==(const RemovePool&) const = default;
};

using Action =
    std::variant<AssignNode, SetRack, SetGrantTime, OrderBoot, StepNode, SetDrainDeadline,
                 RestartDrain, ForceDrain, SetPreemption, AskReplacement, StageProfile,
                 ChooseForReboot, DrainInPlace, RefreshMetadata, PurgeNode, SetAccount,
                 RaiseGeneration, SetReconfiguration, SetStatus, EmitEvent, RemovePool>;

// The rows that an action makes. FAILED_PRECONDITION when it does not fit the Node; the Node is
// then as it was.
Node NodeOf(const Pool& pool, const AssignNode& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const SetRack& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const SetGrantTime& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const OrderBoot& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const StepNode& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const SetDrainDeadline& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const RestartDrain& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const ForceDrain& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const SetPreemption& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const AskReplacement& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const StageProfile& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const ChooseForReboot& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const DrainInPlace& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const RefreshMetadata& action, absl::Time now);

}  // namespace muster::lifecycle
