#include "services/capacity/core/census.h"

#include <algorithm>

#include "services/capacity/core/parts.h"

namespace muster::capacity {

void Census::AddMachines(const State& state) {
  for (const auto& [key, inventory] : state.inventories()) machines[key] += inventory.counts();
}

void Census::Add(const ClaimRow& claim) {
  ClaimCount& count = claims[{claim.zone, claim.instance_type, claim.compute_class}];
  ++count.claims;
  if (claim.parts.empty()) return;
  ++count.waiting;
  count.nodes += Outstanding(claim.parts);
  count.oldest = std::min(count.oldest, claim.parts.front().request_time);
}

}  // namespace muster::capacity
