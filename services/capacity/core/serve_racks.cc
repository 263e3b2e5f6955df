#include "services/capacity/core/serve_racks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/capacity/core/gang.h"
#include "services/capacity/core/grant.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {
namespace {

class RackServer {
 public:
  RackServer(Overlay<State>& overlay, const DepotKey& key, absl::Time now, absl::Time keeps_after)
      : overlay_(overlay), key_(key), now_(now), keeps_after_(keeps_after) {}

  // Completes racks that are held in part. Nobody else may have these machines, so the queue's
  // order has no say.
  void ServeRefills() {
    std::vector<std::string> uids;
    for (const auto& [uid, places] : depot().partly_held()) uids.push_back(uid);
    for (const std::string& uid : uids) {
      const ClaimRow* claim = overlay_.state().FindClaim(uid);
      if (claim == nullptr || claim->compute_class == ComputeClass::kSpot) continue;
      const std::vector<ClaimPart> parts = claim->parts;
      for (const ClaimPart& part : parts) RefillPart(uid, part);
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
      const Choice choice = ChoiceOf(turn->selector.affinity, kept_);
      const int64_t whole = CountWholeRacks(depot(), choice);
      if (whole == 0) continue;
      turn->selector.gang ? ServeGang(*turn, choice, whole) : ServePart(*turn, choice, whole);
      turns.Open(depot().queue(), turn->selector, &turn->key);
    }
    return depot().free() < free;
  }

 private:
  // All changes are to rows of this depot, which stays: it has machines.
  const Depot& depot() const { return *overlay_.state().FindDepot(key_); }

  std::vector<std::string> Refill(const ClaimRow& claim, int64_t nodes) const {
    return ChooseRefill(overlay_.state(), depot(), Choice{&claim.affinity}, claim.pool_uid, nodes);
  }

  void RefillPart(const std::string& uid, const ClaimPart& part) {
    ClaimRow claim = *overlay_.state().FindClaim(uid);
    const std::vector<std::string> ids = Refill(claim, part.nodes);
    const bool all = static_cast<int64_t>(ids.size()) == part.nodes;
    if (!all && IsAtOnce(claim, part, overlay_.state().FootprintOf(uid).ages)) return;
    Hold(overlay_, ids, claim, part.request_time, now_);
    overlay_.Put(std::move(claim));
  }

  // `part`: for which; nullopt: for the oldest.
  void Grant(const Turn& turn, const Choice& choice, int64_t racks,
             std::optional<absl::Time> part) {
    ClaimRow claim = *overlay_.state().FindClaim(turn.key.pool_uid);
    const WaitingAffinities waiting(depot().queue(), false);
    for (; racks > 0; --racks) {
      for (const std::string& id :
           ChooseWholeRack(overlay_.state(), depot(), choice, waiting, claim.pool_uid, racks))
        Hold(overlay_, {id}, claim, part.value_or(claim.parts.front().request_time), now_);
    }
    overlay_.Put(std::move(claim));
  }

  void ServePart(const Turn& turn, const Choice& choice, int64_t whole) {
    const int64_t size = depot().nodes_per_rack();
    // What a gang lost is replaced by itself.
    if (overlay_.state().FindClaim(turn.key.pool_uid)->gang)
      return Grant(turn, choice, std::min(turn.nodes / size, whole), turn.key.request_time);
    int64_t& nodes = passed_[turn.key.pool_uid];
    nodes += turn.nodes;
    const int64_t racks = std::min(nodes / size, whole);
    nodes -= racks * size;
    Grant(turn, choice, racks, std::nullopt);
  }

  void ServeGang(const Turn& turn, const Choice& choice, int64_t whole) {
    const int64_t racks = turn.nodes / depot().nodes_per_rack();
    const int64_t single = turn.nodes % depot().nodes_per_rack();
    ClaimRow claim = *overlay_.state().FindClaim(turn.key.pool_uid);
    const std::vector<std::string> refill = Refill(claim, single);
    if (whole >= racks && static_cast<int64_t>(refill.size()) == single) {
      Hold(overlay_, refill, claim, turn.key.request_time, now_);
      overlay_.Put(std::move(claim));
      return Grant(turn, choice, racks, turn.key.request_time);
    }
    const ClaimPart part{turn.key.request_time, turn.nodes};
    if (turn.key.request_time <= keeps_after_ ||
        !CanEverBeMet(overlay_.state(), depot(), claim, part))
      return;
    kept_.push_back({turn.key, turn.selector.affinity, whole * depot().nodes_per_rack(),
                     WholeRacksOf(depot(), choice)});
  }

  Overlay<State>& overlay_;
  const DepotKey key_;
  const absl::Time now_;
  const absl::Time keeps_after_;
  // Pool uid → Nodes of its parts up to here, not granted.
  std::map<std::string, int64_t> passed_;
  std::vector<KeptGang> kept_;
};

}  // namespace

void ServeRacks(Overlay<State>& overlay, const DepotKey& key, absl::Time now,
                absl::Time keeps_after) {
  if (overlay.state().FindDepot(key)->free() == 0) return;
  RackServer server(overlay, key, now, keeps_after);
  server.ServeRefills();
  // A rack with spare machines may go on to complete what its new holder misses.
  if (server.ServeWhole()) server.ServeRefills();
}

}  // namespace muster::capacity
