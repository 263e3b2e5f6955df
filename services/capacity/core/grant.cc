#include "services/capacity/core/grant.h"

#include <utility>

#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/parts.h"

namespace muster::capacity {

void Hold(Overlay<State>& overlay, const std::vector<std::string>& ids, ClaimRow& claim,
          absl::Time part, absl::Time now) {
  for (const std::string& id : ids) {
    MachineRow machine = *overlay.state().FindMachine(id);
    machine.state = Next(machine.state, MachineEvent::kGranted).value();
    machine.state_time = now;
    machine.claim = claim.pool_uid;
    machine.request_time = part;
    machine.compute_class = claim.compute_class;
    TakeFrom(claim.parts, part);
    overlay.Put(std::move(machine));
  }
}

}  // namespace muster::capacity
