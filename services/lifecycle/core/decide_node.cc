// Decide of what users and operators want of one Node: UpdateNode, OrderNode.
#include <utility>

#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_orders.h"
#include "services/lifecycle/core/put_pool.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

Outcome NodeOutcome(const State& state, const std::string& name) {
  const Versioned<Node>* row = state.table<Node>().FindVersioned(name);
  return Outcome{.node = *row->row, .revision = row->revision};
}

absl::Status Change(Node& node, const UpdateNode& command, absl::Time now) {
  if (command.protect_until_time) {
    node.protect_until_time = *command.protect_until_time;
    if (IsProtected(node, now)) node.removal_requested = false;
  }
  if (command.reserved_desired && *command.reserved_desired != node.reserved_desired) {
    if (!TakesOrders(node.state))
      return error::DoesNotFit(node.name, NodeStateName(node.state), "reserved_desired");
    node.reserved_desired = *command.reserved_desired;
  }
  return absl::OkStatus();
}

}  // namespace

StatusOrOutcome Decide(StagedState<State>& staged, const UpdateNode& command, absl::Time now) {
  const Node* before = staged.state().table<Node>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  Node node = *before;
  const absl::Status changed = Change(node, command, now);
  // A repeated command has an old etag, see OrderNode.
  if (!changed.ok() || node != *before)
    RETURN_IF_ERROR(CheckEtag<Node>(staged.state(), command.name, command.etag));
  RETURN_IF_ERROR(changed);
  ForgetAsk(node);
  staged.Put(std::move(node));
  return NodeOutcome(staged.state(), command.name);
}

StatusOrOutcome Decide(StagedState<State>& staged, const OrderNode& command, absl::Time now) {
  const Node* row = staged.state().table<Node>().Find(command.name);
  const Pool* pool = staged.state().table<Pool>().Find(PoolNameOf(command.name));
  if (row == nullptr || pool == nullptr) return muster::error::NotFound(command.name);
  const Node before = *row;
  Node node = before;
  const absl::Status taken = TakeOrder(node, command, now);
  // A caller whose answer was lost repeats the command with an etag that is old by now.
  if (!taken.ok() || node != before)
    RETURN_IF_ERROR(CheckEtag<Node>(staged.state(), command.name, command.etag));
  if (command.verb == OrderNode::Verb::kReboot && pool->deleting())
    return error::PoolDeleting(pool->name);
  RETURN_IF_ERROR(taken);
  if (node == before) return NodeOutcome(staged.state(), command.name);
  EventLog log(staged, now);
  staged.Put(node);
  log.EmitAll(*pool, &before, node, "");
  return NodeOutcome(staged.state(), command.name);
}

}  // namespace muster::lifecycle
