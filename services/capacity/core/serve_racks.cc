#include "services/capacity/core/serve_racks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
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
  RackServer(StagedState<State>& staged, const InventoryKey& key, absl::Time now,
             absl::Time keeps_after)
      : staged_(staged), key_(key), now_(now), keeps_after_(keeps_after), wanted_(inventory()) {}

  // Completes racks that are held in part. Nobody else may have these machines, so the queue's
  // order has no say.
  void ServeRefills() {
    std::vector<std::string> uids;
    for (const auto& [uid, places] : inventory().partly_held()) uids.push_back(uid);
    for (const std::string& uid : uids) {
      const ClaimRow* claim = staged_.state().FindClaim(uid);
      if (claim == nullptr || claim->compute_class == ComputeClass::kSpot) continue;
      const std::vector<ClaimPart> parts = claim->parts;
      for (const ClaimPart& part : parts) RefillPart(uid, part);
    }
  }

  // Whether anything was granted.
  bool ServeWhole() {
    const int64_t free = inventory().free();
    std::set<Selector> open = DefaultSelectors();  // for which there may be whole racks
    QueueCursor cursor(inventory().queue());
    while (const std::optional<Turn> turn =
               open.empty() || inventory().by_whole().empty() ? std::nullopt : cursor.Next()) {
      if (turn->key.compute_class == ComputeClass::kSpot) break;
      if (!open.contains(turn->selector)) continue;
      const EligibleMachines eligible = EligibleMachinesOf(turn->selector.affinity, kept_);
      const int64_t whole = CountWholeRacks(inventory(), eligible);
      // It stays so: racks are granted and kept here, and none becomes whole.
      if (whole == 0) {
        open.erase(turn->selector);
        continue;
      }
      turn->selector.gang ? ServeGang(*turn, eligible, whole) : ServePart(*turn, eligible, whole);
    }
    return inventory().free() < free;
  }

 private:
  // All changes are to rows of this inventory, which stays: it has machines.
  const Inventory& inventory() const { return *staged_.state().FindInventory(key_); }

  // Of those who wait. What is granted meanwhile adds none: a gang's part stays at once or not.
  std::set<Selector> DefaultSelectors() const {
    std::set<Selector> selectors;
    if (inventory().by_whole().empty()) return selectors;
    for (const auto& [selector, line] : inventory().queue().lines()) {
      // Default claims stand before spot.
      if (std::get<ComputeClass>(*line.begin()) == ComputeClass::kDefault)
        selectors.insert(selector);
    }
    return selectors;
  }

  std::vector<std::string> Refill(const ClaimRow& claim, int64_t nodes) const {
    const int64_t outstanding = claim.gang ? nodes : Outstanding(claim.parts);
    return ChooseRefill(staged_.state(), inventory(), EligibleMachines{&claim.affinity},
                        claim.pool_uid, nodes, outstanding);
  }

  void RefillPart(const std::string& uid, const ClaimPart& part) {
    ClaimRow claim = *staged_.state().FindClaim(uid);
    const std::vector<std::string> ids = Refill(claim, part.nodes);
    const bool all = static_cast<int64_t>(ids.size()) == part.nodes;
    if (!all && IsAtOnce(claim, part, staged_.state().FootprintOf(uid).ages)) return;
    HoldAll(ids, claim, part.request_time,
            SpendOwn(claim, part.request_time, static_cast<int64_t>(ids.size())));
    Put(std::move(claim));
  }

  void HoldAll(const std::vector<std::string>& ids, ClaimRow& claim, absl::Time part,
               const std::vector<absl::Time>& places) {
    for (size_t i = 0; i < ids.size(); ++i) Hold(staged_, ids[i], claim, part, places[i], now_);
  }

  // Of a claim that got something.
  void Put(ClaimRow claim) {
    TidyPlaces(claim);
    const Affinity affinity = claim.affinity;
    staged_.Put(std::move(claim));
    wanted_.Recheck(affinity);
  }

  // Racks that use up the first of `turn`, in this order. `part`: for which; nullopt: for the
  // oldest.
  void Grant(ClaimRow& claim, const EligibleMachines& eligible, int64_t racks,
             std::optional<absl::Time> part, const std::vector<PlaceUse>& turn) {
    WholeRacks whole(staged_.state(), inventory(), eligible, wanted_);
    const auto places = Spend(staged_, claim, turn, racks * inventory().nodes_per_rack());
    auto place = places.begin();
    for (; racks > 0; --racks) {
      for (const std::string& id : whole.Next(claim.pool_uid, racks))
        Hold(staged_, id, claim, part.value_or(claim.parts.front().request_time), *place++, now_);
    }
  }

  void ServePart(const Turn& turn, const EligibleMachines& eligible, int64_t whole) {
    const int64_t size = inventory().nodes_per_rack();
    ClaimRow claim = *staged_.state().FindClaim(turn.key.pool_uid);
    if (Rests(claim)) return;
    // What a gang lost is replaced by itself.
    const auto part = claim.gang ? std::optional(turn.key.request_time) : std::nullopt;
    Passed& passed = passed_[{claim.pool_uid, part.value_or(absl::InfinitePast())}];
    passed.nodes += turn.nodes;
    passed.places.insert(passed.places.end(), turn.places.begin(), turn.places.end());
    const int64_t racks = std::min(passed.nodes / size, whole);
    if (racks == 0) return;
    passed.nodes -= racks * size;
    Grant(claim, eligible, racks, part, passed.places);
    Forget(passed.places, racks * size);
    Put(std::move(claim));
  }

  static void Forget(std::vector<PlaceUse>& places, int64_t nodes) {
    auto use = places.begin();
    for (; nodes > 0 && use->nodes <= nodes; ++use) nodes -= use->nodes;
    if (nodes > 0) use->nodes -= nodes;
    places.erase(places.begin(), use);
  }

  void ServeGang(const Turn& turn, const EligibleMachines& eligible, int64_t whole) {
    const int64_t racks = turn.nodes / inventory().nodes_per_rack();
    const int64_t single = turn.nodes % inventory().nodes_per_rack();
    ClaimRow claim = *staged_.state().FindClaim(turn.key.pool_uid);
    const std::vector<std::string> refill = Refill(claim, single);
    if (!Rests(claim) && whole >= racks && static_cast<int64_t>(refill.size()) == single) {
      std::vector<PlaceUse> places = turn.places;
      HoldAll(refill, claim, turn.key.request_time, Spend(staged_, claim, places, single));
      Forget(places, single);
      TidyPlaces(claim);
      staged_.Put(claim);
      Grant(claim, eligible, racks, turn.key.request_time, places);
      Put(std::move(claim));
      return;
    }
    const ClaimPart part{turn.key.request_time, turn.nodes};
    // No whole rack completes what wants none.
    if (racks == 0 || turn.key.request_time <= keeps_after_ ||
        !CanEverBeMet(staged_.state(), inventory(), claim, part))
      return;
    kept_.push_back({turn.position(), turn.selector.affinity, whole * inventory().nodes_per_rack(),
                     WholeRacksOf(inventory(), eligible)});
  }

  StagedState<State>& staged_;
  const InventoryKey key_;
  const absl::Time now_;
  const absl::Time keeps_after_;
  WantedRacks wanted_;
  // By pool uid, and part of a gang: what stands up to here and was not granted.
  struct Passed {
    int64_t nodes = 0;
    std::vector<PlaceUse> places = {};
  };
  std::map<std::pair<std::string, absl::Time>, Passed> passed_;
  std::vector<KeptGang> kept_;
};

}  // namespace

void ServeRacks(StagedState<State>& staged, const InventoryKey& key, absl::Time now,
                absl::Time keeps_after) {
  if (staged.state().FindInventory(key)->free() == 0) return;
  RackServer server(staged, key, now, keeps_after);
  server.ServeRefills();
  // A rack with spare machines may go on to complete what its new holder misses.
  if (server.ServeWhole()) server.ServeRefills();
}

}  // namespace muster::capacity
