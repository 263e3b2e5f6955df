// Nodes that an operator moves to the control plane. Source: the reference, workload scheduling,
// `node.coreweave.cloud/reserved-desired`.
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/planner.h"

namespace muster::lifecycle {

void Planner::Reserve() {
  if (pool_.deleting()) return;
  for (auto& [name, node] : nodes_) {
    const bool here = node.state == NodeState::kProduction || node.state == NodeState::kTriage;
    // One that is being rebooted first comes back.
    const bool reboots = node.reconfigure_time != kNever;
    if (!here || reboots || node.reserved_desired.empty() || !Room()) continue;
    if (!MayDisrupt(node, "reservation")) continue;
    Dismiss(node, RemovalCause::kReservation, "an operator moves it to the control plane");
  }
}

}  // namespace muster::lifecycle
