#include "services/capacity/core/grant.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

// The owner gives up to `nodes` of the place to the claim, which gives its youngest for them.
int64_t Exchange(StagedState<State>& staged, ClaimRow& claim, const PlaceKey& place,
                 int64_t nodes) {
  const State& state = staged.state();
  const Inventory& inventory = *state.FindInventory({claim.zone, claim.instance_type});
  const ClaimRow* found = state.FindClaim(inventory.queue().OwnerOf(place, claim.pool_uid));
  // A place that nobody stands at: this call fails, and not the process.
  if (found == nullptr) throw std::logic_error("a place in the queue has no owner");
  ClaimRow owner = *found;
  const bool rests = Rests(owner);
  if (rests) TakeUp(owner, Outstanding(owner.withheld_parts));
  SpellPlaces(owner);
  const int64_t taken = TakePlace(owner, place.time, place.asked_by, nodes);
  for (const ClaimPlace& given : TakeYoungest(claim, taken)) AddPlace(owner, given);
  TidyPlaces(owner);
  if (rests) Withhold(owner);
  staged.Put(std::move(owner));
  return taken;
}

}  // namespace

std::vector<absl::Time> Spend(StagedState<State>& staged, ClaimRow& claim,
                              const std::vector<PlaceUse>& turn, int64_t nodes) {
  std::vector<absl::Time> times;
  SpellPlaces(claim);
  for (const PlaceUse& use : turn) {
    int64_t left = std::min(use.nodes, nodes);
    nodes -= left;
    times.insert(times.end(), static_cast<size_t>(left), use.place.time);
    left -= TakePlace(claim, use.place.time, use.place.asked_by, left);
    while (left > 0) left -= Exchange(staged, claim, use.place, left);
  }
  return times;
}

std::vector<absl::Time> SpendOwn(ClaimRow& claim, absl::Time part, int64_t nodes) {
  SpellPlaces(claim);
  const int64_t same = TakePlace(claim, part, claim.pool_uid, nodes);
  std::vector<absl::Time> times(static_cast<size_t>(same), part);
  for (const ClaimPlace& place : TakeOldest(claim, nodes - same))
    times.insert(times.end(), static_cast<size_t>(place.nodes), place.time);
  return times;
}

void Hold(StagedState<State>& staged, const std::string& id, ClaimRow& claim, absl::Time part,
          absl::Time place, absl::Time now) {
  MachineRow machine = *staged.state().FindMachine(id);
  machine.state = Next(machine.state, MachineEvent::kGranted).value();
  machine.state_time = now;
  machine.claim = claim.pool_uid;
  machine.request_time = part;
  if (place != part) machine.place_time = place;
  machine.compute_class = claim.compute_class;
  TakeFrom(claim.parts, part);
  ForgetLost(claim);
  staged.Put(std::move(machine));
}

}  // namespace muster::capacity
