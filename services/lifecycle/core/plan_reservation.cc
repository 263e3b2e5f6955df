// Nodes that an operator moves to the control plane. Source: the reference, workload scheduling,
// `node.coreweave.cloud/reserved-desired`.
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_parts.h"

namespace muster::lifecycle {

void ReserveNodes(const PlanFacts& facts, Draft& draft) {
  if (facts.pool.deleting()) return;
  for (auto& [name, node] : draft.nodes) {
    // One that is being rebooted first comes back.
    const bool reboots = node.reconfigure_time != kNever && node.orders.reboot == Reboot::kNone;
    if (!IsUp(node.state) || reboots || node.reserved_desired.empty() || !draft.HasStepsLeft())
      continue;
    if (!draft.MayDisrupt(node, "reservation")) continue;
    StartRemoval(draft, node, RemovalCause::kReservation,
                 "an operator moves it to the control plane");
  }
}

}  // namespace muster::lifecycle
