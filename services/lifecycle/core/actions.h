#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/types.h"

// What a plan does. Each is small and says why; the order is the order in which they are carried
// out.
namespace muster::lifecycle {

// A granted machine becomes a Node. With a profile it is told to boot at once.
struct AssignNode {
  std::string machine = {};
  std::string node_profile = {};
  bool gpu = false;
  std::string reason = {};
  bool operator==(const AssignNode&) const = default;
};

// An assigned Node is told to boot.
struct OrderBoot {
  std::string node = {};
  std::string node_profile = {};
  std::string reason = {};
  bool operator==(const OrderBoot&) const = default;
};

// A Node goes along an edge of its machine. `drain_deadline` is read for kDrain.
struct StepNode {
  std::string node = {};
  NodeEvent event = NodeEvent::kCordon;
  absl::Time drain_deadline = kNever;
  std::string reason = {};
  bool operator==(const StepNode&) const = default;
};

// A drain under way gets a deadline.
struct SetDrainDeadline {
  std::string node = {};
  absl::Time drain_deadline = kNever;
  std::string reason = {};
  bool operator==(const SetDrainDeadline&) const = default;
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

// What was agreed on with quota and capacity.
struct SetAccount {
  int64_t granted_nodes = 0;
  int64_t requested_nodes = 0;
  std::string reason = {};
  bool operator==(const SetAccount&) const = default;
};

struct SetStatus {
  Status status = {};
  std::string reason = {};
  bool operator==(const SetStatus&) const = default;
};

struct EmitEvent {
  std::string object = {};
  std::string event = {};  // CWNodeAssigned, ...
  std::string message = {};
  bool operator==(const EmitEvent&) const = default;
};

// The pool's row goes.
struct RemovePool {
  std::string reason = {};
  bool operator==(const RemovePool&) const = default;
};

using Action = std::variant<AssignNode, OrderBoot, StepNode, SetDrainDeadline, RefreshMetadata,
                            PurgeNode, SetAccount, SetStatus, EmitEvent, RemovePool>;

// The rows that an action makes. FAILED_PRECONDITION when it does not fit the Node.
Node NodeOf(const Pool& pool, const AssignNode& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const OrderBoot& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const StepNode& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const SetDrainDeadline& action, absl::Time now);
absl::Status CarryOut(Node& node, const Pool& pool, const RefreshMetadata& action, absl::Time now);

}  // namespace muster::lifecycle
