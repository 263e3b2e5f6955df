#include "services/capacity/core/audit.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/arrivals.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {
namespace {

using Faults = std::vector<std::string>;

void AuditReclaim(const State& state, const MachineRow& machine, Faults& faults) {
  const bool reclaiming = machine.state == MachineState::kReclaiming;
  if (reclaiming != machine.reclaim_time.has_value() ||
      (reclaiming && machine.compute_class != ComputeClass::kSpot) ||
      (!reclaiming && !machine.earmark.empty())) {
    faults.push_back(absl::StrCat(
        machine.id, " is ", NameOf(machine.state),
        reclaiming ? " without time or from no spot claim." : " with the marks of a reclaim."));
  }
  if (machine.earmark.empty()) return;
  const ClaimRow* claim = state.FindClaim(machine.earmark);
  if (claim == nullptr || claim->zone != machine.zone ||
      claim->instance_type != machine.instance_type ||
      claim->compute_class != ComputeClass::kDefault || !Matches(claim->affinity, machine.labels)) {
    faults.push_back(absl::StrCat(machine.id, " is earmarked for claim '", machine.earmark,
                                  "', which cannot have it."));
  }
}

// Whether the footprint of its holder has the machine's own row.
bool IsHeldAsItIs(const State& state, const MachineRow& machine) {
  const auto& holding = state.FootprintOf(machine.claim).machines;
  const auto row = holding.find(machine.id);
  return row != holding.end() && *row == &machine;
}

bool IsHeld(const MachineRow& machine) {
  return machine.state == MachineState::kHeld || machine.state == MachineState::kReclaiming;
}

void AuditMachine(const State& state, const MachineRow& machine, Faults& faults) {
  const bool held = IsHeld(machine);
  if (held == machine.claim.empty() || held != machine.request_time.has_value()) {
    faults.push_back(absl::StrCat(machine.id, " is ", NameOf(machine.state), " with claim '",
                                  machine.claim, "'."));
  }
  AuditReclaim(state, machine, faults);
  if (!held) return;
  const ClaimRow* claim = state.FindClaim(machine.claim);
  if (claim == nullptr || claim->zone != machine.zone ||
      claim->instance_type != machine.instance_type ||
      claim->compute_class != machine.compute_class) {
    faults.push_back(absl::StrCat(machine.id, " is held by claim '", machine.claim,
                                  "', which is not there or for others."));
  }
  if (!IsHeldAsItIs(state, machine))
    faults.push_back(absl::StrCat(machine.id, " is not held as its row is."));
}

// Nodes of the part and of those that can be granted with it; a gang's parts are each granted
// alone.
int64_t CountWaiting(const ClaimRow& claim, absl::Time part) {
  if (!claim.gang) return Outstanding(claim.parts);
  const auto it = std::find_if(claim.parts.begin(), claim.parts.end(),
                               [&](const ClaimPart& one) { return one.request_time == part; });
  return it->nodes;
}

// Finds the first request of a selector that gets nothing though it may have a free machine. What
// is kept for a gang counts against those behind it only.
void AuditQueue(const State& state, const InventoryKey& key, const Inventory& inventory,
                Faults& faults) {
  const auto offered = [&](ComputeClass compute_class) {
    return OfferOf(state, key.first, key.second, compute_class) == Offer::kOffered;
  };
  const std::vector<KeptGang> kept = KeptGangs(state, key);
  std::set<Selector> seen;
  Walk walk(inventory.queue());
  while (const std::optional<Run> run = walk.Next()) {
    const ClaimRow& claim = *state.FindClaim(run->key.pool_uid);
    if (Rests(claim)) continue;
    if (!seen.insert(run->selector).second || run->selector.gang ||
        !offered(ComputeClass::kDefault) || !offered(run->key.compute_class))
      continue;
    std::vector<KeptGang> ahead = kept;
    // What a claim at rest could have others of its class may take.
    if (run->key.compute_class == ComputeClass::kDefault)
      std::erase_if(ahead, [](const KeptGang& gang) { return gang.single; });
    // With whole racks a claim's turn may be that of a later part.
    if (inventory.nodes_per_rack() == 0) {
      const Position first{run->place, run->key};
      std::erase_if(ahead, [&](const KeptGang& gang) { return first < gang.position; });
    }
    const int64_t wanted = std::max(1, inventory.nodes_per_rack());
    if (CountWaiting(claim, run->key.request_time) >= wanted &&
        CountOnOffer(inventory, EligibleMachinesOf(run->selector.affinity, ahead)) > 0) {
      faults.push_back(absl::StrCat("Claim ", run->key.pool_uid, " waits beside free machines of ",
                                    key.second, " in ", key.first, "."));
    }
  }
  for (const auto& [uid, reclaims] : inventory.spot().reclaims()) {
    const ClaimRow* claim = state.FindClaim(uid);
    if (claim != nullptr &&
        static_cast<int64_t>(reclaims.size()) > Outstanding(PartsInQueue(*claim)))
      faults.push_back(
          absl::StrCat("Claim ", uid, " has more machines earmarked than it waits for."));
  }
}

// Places, where there are any, are as many as the Nodes of the parts that they are of.
void AuditPlaces(const ClaimRow& claim, absl::string_view verb, const std::vector<ClaimPart>& parts,
                 const std::vector<ClaimPlace>& places, Faults& faults) {
  int64_t nodes = 0;
  for (const ClaimPlace& place : places) nodes += place.nodes;
  if (places.empty() || nodes == Outstanding(parts)) return;
  faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " ", verb, " ", Outstanding(parts),
                                " Nodes with ", nodes, " places."));
}

void AuditClaim(const State& state, const ClaimRow& claim, Faults& faults) {
  if (FindReleased(state, claim.pool_uid) != nullptr)
    faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " is there though it was released."));
  const int64_t held = state.FootprintOf(claim.pool_uid).held();
  const int64_t wanted = std::max<int64_t>(0, claim.nodes - held);
  if (Outstanding(claim.parts) != wanted) {
    faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " waits for ", Outstanding(claim.parts),
                                  ", not ", wanted, "."));
  }
  AuditPlaces(claim, "waits for", claim.parts, claim.places, faults);
  AuditPlaces(claim, "withholds", claim.withheld_parts, claim.withheld_places, faults);
  if (claim.parts.size() > kMaxParts) {
    faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " has ", claim.parts.size(),
                                  " parts, more than ", kMaxParts, "."));
  }
  for (size_t i = 0; i < claim.parts.size(); ++i) {
    const bool ordered = i == 0 || claim.parts[i - 1].request_time < claim.parts[i].request_time;
    if (!ordered || claim.parts[i].nodes <= 0)
      faults.push_back(absl::StrCat("Claim ", claim.pool_uid, ": parts out of order."));
  }
}

void AuditArrivals(const ArrivalsRow& row, Faults& faults) {
  const auto& bursts = row.bursts;
  bool sound = bursts.size() >= 2 && bursts.size() <= kKeptBursts + 1;
  for (size_t i = 1; i < bursts.size(); ++i)
    sound &= bursts[i - 1].time <= bursts[i].time && bursts[i].machines > 0;
  if (!sound) faults.push_back(absl::StrCat(row.Key(), ": no bursts, too many, or out of order."));
}

using Parts = std::vector<IndexPart<State>>;

template <class Get>
void AddCopied(std::string what, Get get, Parts& parts) {
  parts.push_back(PartOf<State>(std::move(what), std::move(get)));
}

template <class Map>
std::vector<typename Map::key_type> KeysOf(const Map& map) {
  std::vector<typename Map::key_type> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// A copy of what `map` has for the key.
template <class Map>
std::optional<typename Map::mapped_type> ValueOf(const Map& map,
                                                 const typename Map::key_type& key) {
  const auto it = map.find(key);
  if (it == map.end()) return std::nullopt;
  return it->second;
}

void AddInventory(const InventoryKey& key, const Inventory& tables, Parts& parts) {
  const std::string what = absl::StrCat(key.second, " in ", key.first);
  const auto add = [&](auto get) {
    AddCopied(
        what,
        [key, get](const State& state) {
          static const Inventory* const kNone = new Inventory();
          const Inventory* inventory = state.FindInventory(key);
          return get(inventory == nullptr ? *kNone : *inventory);
        },
        parts);
  };
  add([](const Inventory& all) {
    return std::make_tuple(all.counts(), all.nodes_per_rack(), all.by_free(), all.by_whole(),
                           KeysOf(all.fabrics()), KeysOf(all.classes()));
  });
  add([](const Inventory& all) { return all.partly_held(); });
  add([](const Inventory& all) { return all.queue(); });
  add([](const Inventory& all) { return all.spot(); });
  add([](const Inventory& all) { return all.affinities(); });
  for (const auto& [name, fabric] : tables.fabrics())
    add([name = name](const Inventory& all) { return ValueOf(all.fabrics(), name); });
  for (const auto& [labels, machines] : tables.classes())
    add([labels = labels](const Inventory& all) { return ValueOf(all.classes(), labels); });
}

// What a claim holds, without pointers to rows.
struct Held {
  std::vector<std::string> machines = {};
  absl::btree_map<std::string, int64_t> fabrics = {};
  Ages ages = {};
  MachinesPrint print = 0;
  bool operator==(const Held&) const = default;
};

Held FootprintIn(const State& state, const std::string& pool_uid) {
  const Footprint& footprint = state.FootprintOf(pool_uid);
  Held held{.fabrics = footprint.fabrics, .ages = footprint.ages, .print = footprint.print};
  held.machines.reserve(footprint.machines.size());
  for (const MachineRow* machine : footprint.machines) held.machines.push_back(machine->id);
  return held;
}

void AddFootprints(const State& tables, Parts& parts) {
  AddCopied(
      "What is held", [](const State& state) { return state.footprints(); }, parts);
  std::vector<std::string> piece;
  int64_t size = 0;
  const auto end_piece = [&] {
    AddCopied(
        "What claims hold",
        [claims = std::exchange(piece, {})](const State& state) {
          std::vector<Held> held;
          for (const std::string& uid : claims) held.push_back(FootprintIn(state, uid));
          return held;
        },
        parts);
    size = 0;
  };
  for (const auto& [key, claim] : tables.table<ClaimRow>().rows()) {
    piece.push_back(claim.row->pool_uid);
    size += 1 + tables.FootprintOf(claim.row->pool_uid).held();
    if (size >= static_cast<int64_t>(kPiece)) end_piece();
  }
  end_piece();
}

// Machines whose holder does not have their row: of a state that was just made, none.
void AddMachines(const State& tables, Parts& parts) {
  std::string after;
  do {
    const std::string from = after;
    after =
        ForSome(tables.table<MachineRow>(), from, kPiece, [](absl::string_view, const auto&) {});
    AddCopied(
        "Machines that are not held as their rows are",
        [from](const State& state) {
          std::vector<std::string> strangers;
          ForSome(state.table<MachineRow>(), from, kPiece,
                  [&](absl::string_view, const MachineRow& machine) {
                    if (IsHeld(machine) && !IsHeldAsItIs(state, machine))
                      strangers.push_back(machine.id);
                  });
          return strangers;
        },
        parts);
  } while (!after.empty());
}

void AddMachineIds(const State& tables, Parts& parts) {
  AddCopied(
      "Machine ids", [](const State& state) { return KeysOf(state.machine_ids()); }, parts);
  for (const auto& [key, machines] : tables.machine_ids()) {
    for (size_t of_state = 0; of_state < machines.size(); ++of_state) {
      const auto ids = [key = key,
                        of_state](const State& state) -> const absl::btree_set<std::string>& {
        static const auto* const kNone = new absl::btree_set<std::string>();
        const auto it = state.machine_ids().find(key);
        return it == state.machine_ids().end() ? *kNone : it->second[of_state];
      };
      AddRanges(tables, absl::StrCat("Machine ids of ", key.second, " in ", key.first), ids, parts);
    }
  }
}

void AddKept(const State& tables, const std::string& account, Parts& parts) {
  const auto kept = [account](const State& state) -> const KeptByTime::Kept& {
    static const auto* const kNone = new KeptByTime::Kept();
    const KeptByTime::Kept* of = account.empty() ? &state.kept().all() : state.kept().Of(account);
    return of == nullptr ? *kNone : *of;
  };
  const std::string what = absl::StrCat("Kept answers of '", account, "'");
  AddCopied(
      what, [kept](const State& state) { return kept(state).bytes; }, parts);
  AddRanges(
      tables, what,
      [kept](const State& state) -> const KeptByTime::Ids& { return kept(state).ids; }, parts);
}

}  // namespace

std::vector<IndexPart<State>> IndexParts(const State& tables) {
  Parts parts;
  AddCopied(
      "Inventories", [](const State& state) { return KeysOf(state.inventories()); }, parts);
  for (const auto& [key, inventory] : tables.inventories()) AddInventory(key, inventory, parts);
  AddFootprints(tables, parts);
  AddMachines(tables, parts);
  AddMachineIds(tables, parts);
  AddRanges(
      tables, "Released pools",
      [](const State& state) -> const auto& { return state.released().uids(); }, parts);
  std::set<std::string> accounts = {""};
  for (const auto& [id, kept] : tables.table<KeptRequest>().rows())
    accounts.insert(kept.row->account);
  for (const std::string& account : accounts) AddKept(tables, account, parts);
  return parts;
}

std::vector<std::string> Audit(const State& state) {
  std::vector<std::string> faults;
  for (const auto& [key, machine] : state.table<MachineRow>().rows())
    AuditMachine(state, *machine.row, faults);
  for (const auto& [key, claim] : state.table<ClaimRow>().rows())
    AuditClaim(state, *claim.row, faults);
  for (const auto& [key, arrivals] : state.table<ArrivalsRow>().rows())
    AuditArrivals(*arrivals.row, faults);
  int64_t counted = 0;
  for (const auto& [key, inventory] : state.inventories()) {
    counted += inventory.counts().registered();
    AuditQueue(state, key, inventory, faults);
  }
  const int64_t registered = static_cast<int64_t>(state.table<MachineRow>().size());
  if (counted != registered)
    faults.push_back(absl::StrCat(counted, " machines counted, ", registered, " registered."));
  State rebuilt;
  state.ForEach(
      [&](const Revised<State::Change>& row) { rebuilt.Apply(row.change, row.revision); });
  if (!rebuilt.SameIndexes(state))
    faults.push_back("The indexes are not those that the rows give.");
  return faults;
}

}  // namespace muster::capacity
