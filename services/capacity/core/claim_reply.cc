#include "services/capacity/core/claim_reply.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

// Machines that must still come until the claim has all that it waits for. Those that are free
// (kept until a gang ahead is complete) do not count, nor, for a default claim, those being
// reclaimed.
int64_t CountMissing(const Inventory& inventory, const ClaimView& view) {
  const MachineCounts counts = inventory.Matching(view.claim.affinity);
  int64_t missing = view.queue->nodes_ahead + Outstanding(view.claim.parts);
  if (inventory.nodes_per_rack() == 0) missing -= counts.free();
  if (view.claim.compute_class == ComputeClass::kDefault)
    missing -= counts.count(MachineState::kReclaiming);
  return missing;
}

}  // namespace

ClaimReply AnswerOf(const State& state, ClaimView view, absl::Time now) {
  ClaimReply answer{std::move(view)};
  const ClaimRow& claim = answer.view.claim;
  const InventoryKey key = {claim.zone, claim.instance_type};
  const Inventory* inventory = state.FindInventory(key);
  const ArrivalsRow* arrivals = state.FindArrivals(key, claim.compute_class);
  // Who cannot be served as things are has nothing to wait for.
  if (inventory == nullptr || arrivals == nullptr || !answer.view.queue ||
      answer.view.reason != ClaimReason::kQueued)
    return answer;
  // At best all that comes matches, at worst no more of it than of what is in service.
  const int64_t fewest = CountMissing(*inventory, answer.view);
  const int64_t most = static_cast<int64_t>(
      std::ceil(static_cast<double>(fewest) * static_cast<double>(answer.view.in_service) /
                static_cast<double>(answer.view.matching)));
  const auto best = EstimateWait(arrivals->bursts, fewest, now);
  const auto worst = EstimateWait(arrivals->bursts, most, now);
  if (best && worst) answer.wait = WaitRange{best->earliest, worst->latest};
  return answer;
}

}  // namespace muster::capacity
