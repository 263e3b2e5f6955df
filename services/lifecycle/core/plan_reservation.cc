// Nodes that an operator moves to the control plane. Source: the reference, workload scheduling,
// `node.coreweave.cloud/reserved-desired`.
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_parts.h"

namespace muster::lifecycle {

void ReserveNodes(const PlanFacts& facts, Draft& draft) {
  if (facts.pool.deleting()) return;
  for (auto& [name, node] : draft.nodes) {
    // A Node that is rebooting is not up and comes back first; one that is only chosen for a reboot
    // goes.
    if (!IsUp(node.state) || node.reserved_desired.empty() || !draft.HasStepsLeft()) continue;
    if (!draft.MayDisrupt(node, "reservation")) continue;
    StartRemoval(draft, node, RemovalCause::kReservation,
                 "an operator moves it to the control plane");
  }
}

}  // namespace muster::lifecycle
