#include "services/capacity/core/serve.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/capacity/core/gang.h"
#include "services/capacity/core/grant.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/reclaim.h"
#include "services/capacity/core/serve_racks.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {
namespace {

void Grant(Overlay<State>& overlay, const DepotKey& key, const Choice& choice,
           const std::string& uid, int64_t nodes, absl::Time now) {
  ClaimRow claim = *overlay.state().FindClaim(uid);
  while (nodes > 0) {
    const Depot& depot = *overlay.state().FindDepot(key);
    const std::vector<std::string> ids = ChooseMachines(overlay.state(), depot, choice, uid, nodes);
    Hold(overlay, ids, claim, now);
    nodes -= static_cast<int64_t>(ids.size());
  }
  overlay.Put(std::move(claim));
}

// How many Nodes the claim at its turn gets. A gang for which machines are kept is added to `kept`.
int64_t NodesAtTurn(const State& state, const Depot& depot, const Choice& choice, const Turn& turn,
                    std::vector<KeptGang>& kept) {
  const int64_t free = CountFree(depot, choice);
  if (!turn.selector.gang || free == 0) return std::min(turn.nodes, free);
  switch (Judge(state, depot, choice, *state.FindClaim(turn.key.pool_uid))) {
    case Verdict::kGrant:
      return turn.nodes;
    case Verdict::kKeep:
      kept.push_back({turn.key, turn.selector.affinity, free});
      return 0;
    case Verdict::kPass:
      break;
  }
  return 0;
}

void ServeMachines(Overlay<State>& overlay, const DepotKey& key, bool spot, absl::Time now) {
  const Depot& depot = *overlay.state().FindDepot(key);  // stays: it has machines
  Turns turns;
  for (const auto& [selector, line] : depot.queue().lines()) {
    if (CountFree(depot, Choice{&selector.affinity}) > 0)
      turns.Open(depot.queue(), selector, nullptr);
  }
  std::vector<KeptGang> kept;
  while (const std::optional<Turn> turn = depot.free() > 0 ? turns.Next() : std::nullopt) {
    if (turn->key.compute_class == ComputeClass::kSpot && !spot) continue;
    const Choice choice = ChoiceOf(turn->selector.affinity, kept);
    const int64_t nodes = NodesAtTurn(overlay.state(), depot, choice, *turn, kept);
    if (nodes > 0) {
      Grant(overlay, key, choice, turn->key.pool_uid, nodes, now);
      turns.Open(depot.queue(), turn->selector, turn->selector.gang ? &turn->key : nullptr);
    } else if (turn->selector.gang &&
               CountFree(depot, ChoiceOf(turn->selector.affinity, kept)) > 0) {
      turns.Open(depot.queue(), turn->selector, &turn->key);
    }
  }
}

bool Offered(const State& state, const DepotKey& key, ComputeClass compute_class) {
  return OfferOf(state, key.first, key.second, compute_class) == Offer::kOffered;
}

void GiveFree(Overlay<State>& overlay, const DepotKey& key, absl::Time now) {
  const State& state = overlay.state();
  const Depot* depot = state.FindDepot(key);
  if (depot == nullptr || depot->free() == 0 || depot->queue().empty()) return;
  if (!Offered(state, key, ComputeClass::kDefault)) return;
  if (depot->nodes_per_rack() > 0) return ServeRacks(overlay, key, now);
  ServeMachines(overlay, key, Offered(state, key, ComputeClass::kSpot), now);
}

}  // namespace

void Serve(Overlay<State>& overlay, const DepotKey& key, absl::Time now) {
  GiveFree(overlay, key, now);
  Reclaim(overlay, key, now);
}

}  // namespace muster::capacity
