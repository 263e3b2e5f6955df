#include "services/capacity/core/serve.h"

#include <algorithm>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/capacity/core/gang.h"
#include "services/capacity/core/grant.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/serve_racks.h"
#include "services/capacity/core/supply.h"
#include "services/capacity/core/turns.h"
#include "services/capacity/core/waiting.h"

namespace muster::capacity {
namespace {

// One decision for single machines.
class Server {
 public:
  Server(StagedState<State>& staged, const Inventory& inventory, bool spot, absl::Time now,
         const Policy& policy)
      : staged_(staged),
        inventory_(inventory),
        spot_(spot),
        now_(now),
        keeps_after_(policy.KeepsAfter(now)),
        waiting_(inventory, spot),
        supply_(staged, inventory, now, policy.preemption_notice) {}

  void Run() {
    const Queue& queue = inventory_.queue();
    std::set<Selector> open = Open();
    QueueCursor cursor(queue);
    std::optional<Turn> turn;
    while (!open.empty() && (turn = cursor.Next()) && !IsSpot(*turn)) {
      if (!open.contains(turn->selector)) continue;
      ServeDefault(*turn);
      if (!Left(turn->selector)) open.erase(turn->selector);
    }
    for (const Overdue& gang : overdue_) Complete(gang);
    promised_.splice(promised_.end(), resting_);
    if (open.empty()) {
      cursor.SkipDefault();
      turn = cursor.Next();
    }
    for (; turn && spot_ && inventory_.free() > 0; turn = cursor.Next()) ServeSpot(*turn);
    supply_.Finish();
  }

  void Finish() { supply_.Finish(); }

 private:
  using Gangs = std::vector<const Affinity*>;

  // A gang that keeps nothing any more, with what those ahead of it do.
  struct Overdue {
    Turn turn = {};
    Gangs kept = {};
    Gangs blocked = {};
  };

  static bool IsSpot(const Turn& turn) { return turn.key.compute_class == ComputeClass::kSpot; }

  // For whose default claims there may be something. Costs O(label classes + lines), and for each
  // class that has something one bit of each affinity.
  std::set<Selector> Open() const {
    AffinitySet takers;
    bool any = false;
    for (const auto& machines : inventory_.classes()) {
      if (machines.second.counts.free() == 0 && !supply_.HasAnyOf(machines)) continue;
      takers |= machines.second.takers.set;
      any = true;
    }
    std::set<Selector> open;
    const auto& lines = inventory_.queue().lines();
    for (auto it = lines.begin(); any && it != lines.end(); ++it) {
      const AffinityBook::Entry* entry = inventory_.affinities().Find(it->first.affinity);
      if (entry == nullptr || takers.Has(entry->number)) open.insert(open.end(), it->first);
    }
    return open;
  }

  // Whether there is anything more for default claims of the selector, and any of them waits still.
  bool Left(const Selector& selector) const {
    if (!inventory_.queue().lines().contains(selector)) return false;
    const Affinity& affinity = selector.affinity;
    return CountFree(inventory_, {&affinity, kept_}) + supply_.Count({&affinity, blocked_}) > 0;
  }

  bool Rests(const Turn& turn) const {
    return capacity::Rests(*staged_.state().FindClaim(turn.key.pool_uid));
  }

  void ServeSpot(const Turn& turn) {
    if (Rests(turn)) return;
    EligibleMachines eligible{&turn.selector.affinity};
    for (const EligibleMachines& gang : promised_) eligible.promised.push_back(&gang);
    const int64_t free = CountFree(inventory_, eligible);
    if (!turn.selector.gang || free >= turn.nodes)
      Grant(turn, eligible, std::min(turn.nodes, free));
  }

  void ServeDefault(const Turn& turn) {
    const EligibleMachines eligible{&turn.selector.affinity, kept_};
    const int64_t free = CountFree(inventory_, eligible);
    const bool rests = Rests(turn);
    if (turn.selector.gang && (rests || free < turn.nodes)) return Gather(turn, free);
    if (rests && free > 0) resting_.push_back({Keep(turn.selector.affinity), kept_});
    const int64_t granted = rests ? 0 : std::min(turn.nodes, free);
    Grant(turn, eligible, granted);
    Fetch(turn, std::min(turn.nodes - granted, supply_.Count({&turn.selector.affinity, blocked_})));
  }

  // A gang that cannot be granted now, or rests. What is free is kept for it if that can complete
  // it; spot gets none of it once what can be reclaimed does.
  void Gather(const Turn& turn, int64_t free) {
    if (turn.key.request_time <= keeps_after_) {
      overdue_.push_back({turn, kept_, blocked_});
      return;
    }
    const int64_t missing = std::max<int64_t>(0, turn.nodes - free);
    if (supply_.Count({&turn.selector.affinity, blocked_}) >= missing) {
      Fetch(turn, missing);
      const std::vector<const Affinity*> ahead = kept_;
      if (free > 0) promised_.push_back({Note(turn.selector.affinity, kept_), ahead});
    } else if (CanEverBeMet(staged_.state(), inventory_,
                            *staged_.state().FindClaim(turn.key.pool_uid),
                            {turn.key.request_time, turn.nodes})) {
      Note(turn.selector.affinity, kept_);
      Note(turn.selector.affinity, blocked_);
    }
  }

  // The same when default claims behind it have had their turns: they may take what is free, spot
  // may not.
  void Complete(const Overdue& gang) {
    const Affinity& affinity = gang.turn.selector.affinity;
    EligibleMachines eligible{&affinity, gang.kept};
    for (const EligibleMachines& other : promised_) eligible.promised.push_back(&other);
    const int64_t free = CountFree(inventory_, eligible);
    const int64_t missing = std::max<int64_t>(0, gang.turn.nodes - free);
    const EligibleMachines from_spot{&affinity, gang.blocked};
    if (supply_.Count(from_spot) < missing) return;
    supply_.Fetch(gang.turn.key.pool_uid, from_spot, missing);
    if (free > 0) promised_.push_back({&affinity, gang.kept});
  }

  const Affinity* Note(const Affinity& affinity, Gangs& gangs) {
    const auto known = std::find_if(gangs.begin(), gangs.end(),
                                    [&](const Affinity* gang) { return *gang == affinity; });
    if (known != gangs.end()) return *known;
    gangs.push_back(Keep(affinity));
    return gangs.back();
  }

  const Affinity* Keep(const Affinity& affinity) {
    affinities_.push_back(affinity);
    return &affinities_.back();
  }

  void Fetch(const Turn& turn, int64_t nodes) {
    supply_.Fetch(turn.key.pool_uid, {&turn.selector.affinity, blocked_}, nodes);
  }

  void Grant(const Turn& turn, const EligibleMachines& eligible, int64_t nodes) {
    if (nodes == 0) return;
    const std::string& uid = turn.key.pool_uid;
    ClaimRow claim = *staged_.state().FindClaim(uid);
    const std::vector<absl::Time> places = Spend(staged_, claim, turn.places, nodes);
    auto place = places.begin();
    MachineChooser chooser(staged_.state(), inventory_, eligible, waiting_, uid);
    while (nodes > 0) {
      const std::vector<std::string> ids = chooser.Next(nodes);
      for (const std::string& id : ids)
        Hold(staged_, id, claim, turn.key.request_time, *place++, now_);
      nodes -= static_cast<int64_t>(ids.size());
    }
    TidyPlaces(claim);
    staged_.Put(std::move(claim));
  }

  StagedState<State>& staged_;
  const Inventory& inventory_;  // stays: it has machines
  const bool spot_;             // is offered
  const absl::Time now_;
  const absl::Time keeps_after_;
  const WaitingAffinities waiting_;
  Supply supply_;
  std::list<Affinity> affinities_;        // of those below
  Gangs kept_;                            // get what is free before default claims behind them
  std::list<EligibleMachines> promised_;  // what spot may not have meanwhile either
  std::list<EligibleMachines> resting_;   // nor these, of claims that rest and are no gangs
  Gangs blocked_;                         // wait for more than can come from spot
  std::list<Overdue> overdue_;
};

bool Offered(const State& state, const InventoryKey& key, ComputeClass compute_class) {
  return OfferOf(state, key.first, key.second, compute_class) == Offer::kOffered;
}

}  // namespace

void ServeQueue(StagedState<State>& staged, const InventoryKey& key, absl::Time now,
                const Policy& policy) {
  const State& state = staged.state();
  const Inventory* inventory = state.FindInventory(key);
  if (inventory == nullptr || inventory->counts().registered() == 0) return;
  const bool offered = Offered(state, key, ComputeClass::kDefault);
  if (offered && inventory->nodes_per_rack() > 0)
    ServeRacks(staged, key, now, policy.KeepsAfter(now));
  if (inventory->free() == 0 && inventory->spot().holdings().empty()) return;
  Server server(staged, *inventory, Offered(state, key, ComputeClass::kSpot), now, policy);
  offered && inventory->nodes_per_rack() == 0 ? server.Run() : server.Finish();
}

void ServeOverdueGangs(StagedState<State>& staged, const InventoryKey& key, absl::Time now,
                       const Policy& policy) {
  const Inventory* inventory = staged.state().FindInventory(key);
  // A gang keeps others from what is free, and from what could be reclaimed.
  if (inventory == nullptr || (inventory->free() == 0 && inventory->spot().holdings().empty()))
    return;
  for (const auto& [selector, line] : inventory->queue().lines()) {
    if (!selector.gang) continue;
    const auto& [compute_class, request_time, uid] = *line.begin();
    if (compute_class == ComputeClass::kDefault && request_time <= policy.KeepsAfter(now))
      return ServeQueue(staged, key, now, policy);
  }
}

}  // namespace muster::capacity
