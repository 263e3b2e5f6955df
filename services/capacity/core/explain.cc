#include "services/capacity/core/explain.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/turns.h"
#include "services/common/count_text.h"

namespace muster::capacity {
namespace {

// "1 Node is", "2 Nodes are".
std::string Are(int64_t count, absl::string_view one) {
  return count == 1 ? absl::StrCat("1 ", one, " is") : absl::StrCat(count, " ", one, "s are");
}

// One explanation: the facts that several obstacles want, and the list as it grows.
class Explainer {
 public:
  Explainer(const State& state, const ClaimRow& claim, absl::Time keeps_after)
      : state_(state),
        claim_(claim),
        keeps_after_(keeps_after),
        inventory_(InventoryOf(state, claim)),
        matching_(inventory_.Matching(claim.affinity)),
        outstanding_(Outstanding(claim.parts)) {}

  std::vector<Obstacle> Explain() && {
    Catalogue();
    if (outstanding_ == 0) return std::move(obstacles_);
    InService();
    Ahead();
    Free();
    Elsewhere();
    return std::move(obstacles_);
  }

 private:
  static const Inventory& InventoryOf(const State& state, const ClaimRow& claim) {
    static const Inventory* const kNone = new Inventory();
    const Inventory* inventory = state.FindInventory({claim.zone, claim.instance_type});
    return inventory == nullptr ? *kNone : *inventory;
  }

  void Add(ObstacleCode code, int64_t nodes, int64_t claims, std::string message) {
    obstacles_.push_back({code, nodes, claims, std::move(message)});
  }

  // The type is not offered.
  void Catalogue() {
    const auto offer = [&](ComputeClass compute_class) {
      return OfferOf(state_, claim_.zone, claim_.instance_type, compute_class);
    };
    switch (offer(claim_.compute_class)) {
      case Offer::kOffered:
        return;
      case Offer::kUnknownInstanceType:
        return Add(
            ObstacleCode::kUnknownInstanceType, 0, 0,
            absl::StrCat("Instance type ", claim_.instance_type, " is not in the catalogue."));
      case Offer::kNotInZone:
        break;
    }
    if (offer(ComputeClass::kDefault) == Offer::kOffered) {
      Add(ObstacleCode::kSpotNotOffered, 0, 0,
          absl::StrCat("Zone ", claim_.zone, " does not offer ", claim_.instance_type,
                       " as spot."));
    } else {
      Add(ObstacleCode::kNotInZone, 0, 0,
          state_.FindZone(claim_.zone) == nullptr
              ? absl::StrCat("Zone ", claim_.zone, " is unknown.")
              : absl::StrCat("Zone ", claim_.zone, " does not offer ", claim_.instance_type, "."));
    }
  }

  // There are not enough machines, whoever holds them.
  void InService() {
    const int64_t all = inventory_.in_service();
    const int64_t match = matching_.in_service();
    const std::string wanted = absl::StrCat("; ", Are(claim_.nodes, "Node"), " wanted.");
    if (all == 0) {
      return Add(ObstacleCode::kNoneInService, 0, 0,
                 absl::StrCat("No machine of type ", claim_.instance_type, " is in service in ",
                              claim_.zone, "."));
    }
    if (match == 0) {
      Add(ObstacleCode::kAffinityMatchesNone, all, 0,
          absl::StrCat(Are(all, "machine"), " in service, none matches the affinity."));
    } else if (CountElsewhere(state_, inventory_, claim_) < outstanding_ && match < all) {
      // What it holds need not match: such machines stay when the affinity changes.
      Add(ObstacleCode::kAffinityMatchesFewer, match, 0,
          absl::StrCat(Are(match, "machine"), " in service that match the affinity", wanted));
    }
    if (all < claim_.nodes) {
      Add(ObstacleCode::kFewerInService, all, 0,
          absl::StrCat(Are(all, "machine"), " in service", wanted));
    }
  }

  // Of the claim's last Node.
  Position Youngest() const { return inventory_.queue().PositionOf(claim_, claim_.parts.back()); }

  void Ahead() {
    absl::flat_hash_set<std::string> claims;
    int64_t nodes = 0;
    int64_t own = outstanding_;
    Walk walk(inventory_.queue());
    while (const std::optional<Run> run = own > 0 ? walk.Next() : std::nullopt) {
      if (run->key.pool_uid == claim_.pool_uid) {
        own -= run->nodes;
        continue;
      }
      claims.insert(run->key.pool_uid);
      nodes += run->nodes;
    }
    if (nodes == 0) return;
    Add(ObstacleCode::kQueuedBehind, nodes, static_cast<int64_t>(claims.size()),
        absl::StrCat(Are(nodes, "Node"), " ahead in the queue, of ",
                     CountText(static_cast<int64_t>(claims.size()), "other claim"), "."));
  }

  // The oldest request of a gang for which too few are free.
  void Incomplete(int64_t free) {
    const Ages& ages = state_.FootprintOf(claim_.pool_uid).ages;
    const auto part = std::find_if(
        claim_.parts.begin(), claim_.parts.end(),
        [&](const ClaimPart& one) { return free < one.nodes && IsAtOnce(claim_, one, ages); });
    if (part == claim_.parts.end()) return;
    // From spot claims they are kept all the same once reclaims complete the gang (KeptGangs).
    const bool overdue =
        claim_.compute_class == ComputeClass::kDefault && part->request_time <= keeps_after_;
    const bool ever = keeps_after_ < absl::InfiniteFuture();
    Add(ObstacleCode::kGangIncomplete, free, 0,
        absl::StrCat(Are(free, "machine"), " free; ", Are(part->nodes, "Node"),
                     " wanted at once or not at all",
                     !overdue ? "."
                     : ever   ? ". They waited too long for free machines to be kept for them: "
                                "default claims behind them get these."
                              : ". Free machines are not kept for them: default claims behind them "
                                "get these."));
  }

  // Whether it waits for more at once than the `nodes` that stand in whole racks: these are too
  // few, not in pieces.
  bool WantsMoreRacksAtOnce(int64_t nodes) const {
    const int64_t size = inventory_.nodes_per_rack();
    const Ages& ages = state_.FootprintOf(claim_.pool_uid).ages;
    return size > 0 &&
           std::any_of(claim_.parts.begin(), claim_.parts.end(), [&](const ClaimPart& part) {
             return part.nodes - part.nodes % size > nodes && IsAtOnce(claim_, part, ages);
           });
  }

  // Machines that match are free, and yet the claim does not get them.
  void Free() {
    const int64_t free = matching_.free();
    Incomplete(free);
    const Position youngest = Youngest();
    const auto on_offer = [&](const std::vector<KeptGang>& kept) {
      return CountOnOffer(inventory_, EligibleMachinesOf(claim_.affinity, kept));
    };
    const int64_t offered = on_offer({});
    std::vector<KeptGang> kept;      // for others
    std::vector<KeptGang> not_left;  // these and what its own earlier requests keep
    for (const KeptGang& gang :
         KeptGangs(state_, {claim_.zone, claim_.instance_type}, keeps_after_)) {
      if (!(gang.position < youngest)) break;
      if (!gang.KeepsFrom(claim_.compute_class)) continue;
      if (on_offer({gang}) >= offered) continue;
      not_left.push_back(gang);
      // What is wanted at once and not there was told.
      if (gang.position.request.pool_uid != claim_.pool_uid) kept.push_back(gang);
    }
    const int64_t taken = offered - on_offer(kept);
    const bool too_few = WantsMoreRacksAtOnce(offered - taken);
    const int64_t left = free - offered + (too_few ? 0 : on_offer(not_left));
    if (taken > 0) {
      const int64_t claims = static_cast<int64_t>(kept.size());
      const bool gangs =
          std::none_of(kept.begin(), kept.end(), [](const KeptGang& gang) { return gang.single; });
      Add(ObstacleCode::kKeptForGang, taken, claims,
          absl::StrCat(Are(taken, "free machine"), " kept for ",
                       CountText(claims, gangs ? "gang" : "claim"), " ahead in the queue."));
    }
    if (inventory_.nodes_per_rack() > 0 && left > 0) {
      Add(ObstacleCode::kNoWholeRack, left, 0,
          absl::StrCat(Are(left, "machine"), " free, but ", claim_.instance_type,
                       " is granted in whole racks of ", inventory_.nodes_per_rack(), " only."));
    }
  }

  void BeingReclaimed() {
    const Reclaims& reclaims = inventory_.spot().ReclaimsFor(claim_.pool_uid);
    if (reclaims.empty()) return;
    const int64_t nodes = static_cast<int64_t>(reclaims.size());
    Add(ObstacleCode::kBeingReclaimed, nodes, 0,
        absl::StrCat(Are(nodes, "machine"), " being reclaimed from spot for this claim."));
    const int64_t told = std::min(nodes, kMaxReclaimsTold);
    obstacles_.back().reclaims.assign(reclaims.begin(), std::next(reclaims.begin(), told));
    obstacles_.back().last_reclaim = reclaims.rbegin()->time;
  }

  // Machines that match are somewhere else.
  void Elsewhere() {
    BeingReclaimed();
    const int64_t held = CountElsewhere(state_, inventory_, claim_) - matching_.free();
    if (held > 0) {
      const int64_t holders = CountHolders();
      Add(ObstacleCode::kHeldByOthers, held, holders,
          absl::StrCat(Are(held, "machine"), " held by ", CountText(holders, "other claim"), "."));
    }
    const int64_t broken = matching_.count(MachineState::kInRepair);
    if (broken > 0) {
      Add(ObstacleCode::kInRepair, broken, 0, absl::StrCat(Are(broken, "machine"), " in repair."));
    }
  }

  // Other claims that hold machines that match.
  int64_t CountHolders() const {
    absl::flat_hash_set<absl::string_view> holders;
    for (const auto& machines : inventory_.classes()) {
      if (!inventory_.Matches(claim_.affinity, machines)) continue;
      for (const auto& [uid, held] : machines.second.held) holders.insert(uid);
    }
    holders.erase(claim_.pool_uid);
    return static_cast<int64_t>(holders.size());
  }

  const State& state_;
  const ClaimRow& claim_;
  const absl::Time keeps_after_;
  const Inventory& inventory_;
  const MachineCounts matching_;
  const int64_t outstanding_;
  std::vector<Obstacle> obstacles_;
};

}  // namespace

std::vector<Obstacle> Explain(const State& state, const ClaimRow& claim, absl::Time keeps_after) {
  return Explainer(state, claim, keeps_after).Explain();
}

}  // namespace muster::capacity
