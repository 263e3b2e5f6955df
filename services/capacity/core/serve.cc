#include "services/capacity/core/serve.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/placement.h"

namespace muster::capacity {
namespace {

void Hold(Overlay<State>& overlay, const std::vector<std::string>& ids, ClaimRow& claim,
          absl::Time now) {
  for (const std::string& id : ids) {
    MachineRow machine = *overlay.state().FindMachine(id);
    machine.state = Next(machine.state, MachineEvent::kGranted).value();
    machine.state_time = now;
    machine.claim = claim.pool_uid;
    machine.request_time = TakeOldest(claim.parts);
    overlay.Put(std::move(machine));
  }
}

void Grant(Overlay<State>& overlay, const DepotKey& key, const std::string& uid, int64_t nodes,
           absl::Time now) {
  ClaimRow claim = *overlay.state().FindClaim(uid);
  while (nodes > 0) {
    const Depot& depot = *overlay.state().FindDepot(key);
    const std::vector<std::string> ids =
        ChooseMachines(depot, overlay.state().FootprintOf(uid), uid, nodes);
    Hold(overlay, ids, claim, now);
    nodes -= static_cast<int64_t>(ids.size());
  }
  overlay.Put(std::move(claim));
}

void ServeMachines(Overlay<State>& overlay, const DepotKey& key, bool spot, absl::Time now) {
  while (true) {
    const Depot* depot = overlay.state().FindDepot(key);
    if (depot == nullptr || depot->free() == 0 || depot->queue().empty()) return;
    const auto [place, sum] = *depot->queue().lines().begin()->second.First();
    if (place.compute_class == ComputeClass::kSpot && !spot) return;
    Grant(overlay, key, place.pool_uid, std::min(sum.nodes, depot->free()), now);
  }
}

// Completes racks that are held in part. Nobody else may have these machines, so the queue's order
// has no say.
void ServeRefills(Overlay<State>& overlay, const DepotKey& key, bool spot, absl::Time now) {
  std::vector<std::string> uids;
  for (const auto& [uid, places] : overlay.state().FindDepot(key)->partly_held())
    uids.push_back(uid);
  for (const std::string& uid : uids) {
    const ClaimRow* claim = overlay.state().FindClaim(uid);
    if (claim == nullptr || claim->parts.empty()) continue;
    if (claim->compute_class == ComputeClass::kSpot && !spot) continue;
    const Depot& depot = *overlay.state().FindDepot(key);
    const std::vector<std::string> ids = ChooseRefill(depot, uid, Outstanding(claim->parts));
    ClaimRow granted = *claim;
    Hold(overlay, ids, granted, now);
    overlay.Put(std::move(granted));
  }
}

void GrantRacks(Overlay<State>& overlay, const DepotKey& key, const std::string& uid, int64_t racks,
                absl::Time now) {
  ClaimRow claim = *overlay.state().FindClaim(uid);
  for (; racks > 0; --racks) {
    const Depot& depot = *overlay.state().FindDepot(key);
    Hold(overlay, ChooseWholeRack(depot, overlay.state().FootprintOf(uid), racks), claim, now);
  }
  overlay.Put(std::move(claim));
}

int64_t WholeRacks(const Depot& depot) {
  int64_t racks = 0;
  for (const Sized& fabric : depot.by_whole()) racks += fabric.size;
  return racks;
}

void ServeRacks(Overlay<State>& overlay, const DepotKey& key, bool spot, absl::Time now) {
  std::map<std::string, int64_t> passed;  // pool uid → Nodes of its parts up to here, not granted
  std::optional<QueueKey> last;
  while (true) {
    const Depot* depot = overlay.state().FindDepot(key);
    if (depot == nullptr || depot->by_whole().empty()) return;
    if (depot->queue().empty()) return;
    const Line::Entry* entry =
        depot->queue().lines().begin()->second.First(last ? &*last : nullptr);
    if (entry == nullptr) return;
    last = entry->first;
    if (last->compute_class == ComputeClass::kSpot && !spot) return;
    int64_t& nodes = passed[last->pool_uid];
    nodes += entry->second.nodes;
    if (nodes < depot->nodes_per_rack()) continue;
    const int64_t racks = std::min(nodes / depot->nodes_per_rack(), WholeRacks(*depot));
    nodes -= racks * depot->nodes_per_rack();
    GrantRacks(overlay, key, last->pool_uid, racks, now);
  }
}

}  // namespace

void Serve(Overlay<State>& overlay, const DepotKey& key, absl::Time now) {
  const Depot* depot = overlay.state().FindDepot(key);
  if (depot == nullptr || depot->free() == 0 || depot->queue().empty()) return;
  if (OfferOf(overlay.state(), key.first, key.second, ComputeClass::kDefault) != Offer::kOffered)
    return;
  const bool spot =
      OfferOf(overlay.state(), key.first, key.second, ComputeClass::kSpot) == Offer::kOffered;
  if (depot->nodes_per_rack() == 0) return ServeMachines(overlay, key, spot, now);
  ServeRefills(overlay, key, spot, now);
  ServeRacks(overlay, key, spot, now);
}

}  // namespace muster::capacity
