#include "services/capacity/core/serve_racks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/capacity/core/gang.h"
#include "services/capacity/core/grant.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {
namespace {

class RackServer {
 public:
  RackServer(Overlay<State>& overlay, const DepotKey& key, absl::Time now)
      : overlay_(overlay), key_(key), now_(now) {}

  // Completes racks that are held in part. Nobody else may have these machines, so the queue's
  // order has no say.
  void ServeRefills() {
    std::vector<std::string> uids;
    for (const auto& [uid, places] : depot().partly_held()) uids.push_back(uid);
    for (const std::string& uid : uids) {
      const ClaimRow* claim = overlay_.state().FindClaim(uid);
      if (claim == nullptr || claim->compute_class == ComputeClass::kSpot) continue;
      const int64_t outstanding = Outstanding(claim->parts);
      ClaimRow granted = *claim;
      const std::vector<std::string> ids = Refill(granted, outstanding);
      if (claim->gang && static_cast<int64_t>(ids.size()) < outstanding) continue;
      Hold(overlay_, ids, granted, now_);
      overlay_.Put(std::move(granted));
    }
  }

  // Whether anything was granted.
  bool ServeWhole() {
    const int64_t free = depot().free();
    Turns turns;
    for (const auto& [selector, line] : depot().queue().lines())
      turns.Open(depot().queue(), selector, nullptr);
    while (const std::optional<Turn> turn =
               depot().by_whole().empty() ? std::nullopt : turns.Next()) {
      if (turn->key.compute_class == ComputeClass::kSpot) continue;
      const bool more = turn->selector.gang ? ServeGang(*turn) : ServePart(*turn);
      if (more) turns.Open(depot().queue(), turn->selector, &turn->key);
    }
    return depot().free() < free;
  }

 private:
  // All changes are to rows of this depot, which stays: it has machines.
  const Depot& depot() const { return *overlay_.state().FindDepot(key_); }

  std::vector<std::string> Refill(const ClaimRow& claim, int64_t nodes) const {
    return ChooseRefill(overlay_.state(), depot(), Choice{&claim.affinity}, claim.pool_uid, nodes);
  }

  void HoldRacks(const Choice& choice, ClaimRow& claim, int64_t racks) {
    for (; racks > 0; --racks) {
      Hold(overlay_, ChooseWholeRack(overlay_.state(), depot(), choice, claim.pool_uid, racks),
           claim, now_);
    }
  }

  // These two: false: there is nothing for the rest of the line.
  bool ServePart(const Turn& turn) {
    const int64_t size = depot().nodes_per_rack();
    int64_t& nodes = passed_[turn.key.pool_uid];
    nodes += turn.nodes;
    if (nodes < size) return true;
    const Choice choice = ChoiceOf(turn.selector.affinity, kept_);
    const int64_t whole = CountWholeRacks(depot(), choice);
    const int64_t racks = std::min(nodes / size, whole);
    nodes -= racks * size;
    ClaimRow claim = *overlay_.state().FindClaim(turn.key.pool_uid);
    HoldRacks(choice, claim, racks);
    overlay_.Put(std::move(claim));
    return racks < whole;
  }

  bool ServeGang(const Turn& turn) {
    const Choice choice = ChoiceOf(turn.selector.affinity, kept_);
    const int64_t on_offer = CountOnOffer(depot(), choice);
    if (on_offer == 0) return false;
    ClaimRow claim = *overlay_.state().FindClaim(turn.key.pool_uid);
    const RackVerdict judged = JudgeRacks(overlay_.state(), depot(), choice, claim);
    switch (judged.verdict) {
      case Verdict::kGrant: {
        const int64_t single = Outstanding(claim.parts) - judged.racks * depot().nodes_per_rack();
        Hold(overlay_, Refill(claim, single), claim, now_);
        HoldRacks(choice, claim, judged.racks);
        overlay_.Put(std::move(claim));
        return true;
      }
      case Verdict::kKeep:
        kept_.push_back({turn.key, turn.selector.affinity, on_offer});
        return false;
      case Verdict::kPass:
        break;
    }
    return true;
  }

  Overlay<State>& overlay_;
  const DepotKey key_;
  const absl::Time now_;
  // Pool uid → Nodes of its parts up to here, not granted.
  std::map<std::string, int64_t> passed_;
  std::vector<KeptGang> kept_;
};

}  // namespace

void ServeRacks(Overlay<State>& overlay, const DepotKey& key, absl::Time now) {
  RackServer server(overlay, key, now);
  server.ServeRefills();
  // A rack with spare machines may go on to complete what its new holder misses.
  if (server.ServeWhole()) server.ServeRefills();
}

}  // namespace muster::capacity
