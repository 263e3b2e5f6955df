#include "tests/model/round.h"

#include <algorithm>

namespace muster::model {

void Round::Run() {
  for (const auto& [id, machine] : books_.machines) {
    ++fabrics_[{machine.claim, machine.fabric}];
    ++racks_[{machine.claim, machine.rack}];
  }
  for (const Turn& turn : OrderOf(books_)) Refill(turn);
  const auto is_spot = [this](const Turn& turn) {
    return books_.claims.at(turn.uid).compute_class == ComputeClass::kSpot;
  };
  const std::vector<Turn> order = OrderOf(books_);
  const auto spot = std::find_if(order.begin(), order.end(), is_spot);
  std::for_each(order.begin(), spot, [this](const Turn& turn) { Serve(turn); });
  // What they keep ends against default claims behind them only.
  for (const Overdue& gang : overdue_) {
    kept_ = gang.kept;
    Complete(books_.claims.at(gang.uid), gang.nodes);
  }
  promised_.insert(resting_.begin(), resting_.end());
  std::for_each(spot, order.end(), [this](const Turn& turn) { Serve(turn); });
  TakeBack();
}

void Round::Serve(const Turn& turn) {
  Claim& claim = books_.claims.at(turn.uid);
  if (!Offered(books_, claim)) return;
  const bool at_once = AtOnce(books_, claim, {turn.time, 0});
  if (books_.nodes_per_rack > 0)
    at_once ? ServeGangOfRacks(claim, turn) : ServeRacks(claim, turn);
  else
    at_once ? ServeGang(claim, turn) : ServeSingles(claim, turn);
}

int64_t Round::NodesOf(const Claim& claim, absl::Time time) const {
  for (const Request& request : claim.requests) {
    if (request.time == time) return request.nodes;
  }
  return 0;
}

// "Partial grants are normal" (5).
void Round::ServeSingles(Claim& claim, const Turn& turn) {
  Seats seats;
  seats.Add(turn.places);
  // "Spot machines are machines that nobody with class default wants now" (5).
  if (claim.rests && claim.compute_class == ComputeClass::kDefault) {
    const Ids free = FreeFor(claim);
    resting_.insert(free.begin(), free.end());
  }
  while (!claim.rests && !seats.empty() && !FreeFor(claim).empty()) {
    const std::string id = Choose(claim, FreeFor(claim), [&](const Machine& machine) {
      return SoChosen(claim, turn.time, machine) && SoPlaced(machine, seats) != seats.times.end();
    });
    Grant(claim, turn.time, id, seats);
  }
  if (claim.compute_class == ComputeClass::kDefault)
    Fetch(claim, static_cast<int64_t>(seats.size()));
}

void Round::ServeGang(Claim& claim, const Turn& turn) {
  const int64_t nodes = NodesOf(claim, turn.time);
  const Ids free = FreeFor(claim);
  if (!claim.rests && static_cast<int64_t>(free.size()) >= nodes) return ServeSingles(claim, turn);
  if (claim.compute_class == ComputeClass::kSpot) return;
  if (!Keeps(turn.time)) return overdue_.push_back({claim.uid, nodes, kept_});
  if (Complete(claim, nodes)) {
    kept_.insert(free.begin(), free.end());
  } else if (CanEverBeMet(books_, claim, {turn.time, nodes})) {
    for (const Ids& ids : {free, ComingFor(claim), VictimsFor(claim)})
      kept_.insert(ids.begin(), ids.end());
  }
}

// Once what can come from spot completes the gang, that comes, and spot gets none of what is free.
bool Round::Complete(const Claim& claim, int64_t nodes) {
  const Ids free = FreeFor(claim);
  const auto have = static_cast<int64_t>(free.size());
  const size_t to_come = ComingFor(claim).size() + VictimsFor(claim).size();
  if (have + static_cast<int64_t>(to_come) < nodes) return false;
  promised_.insert(free.begin(), free.end());
  Fetch(claim, nodes - have);
  return true;
}

// A machine lost from a rack is replaced in the same rack. Only the claim may have what is free
// there, so the order of the queue does not matter.
void Round::Refill(const Turn& turn) {
  Claim& claim = books_.claims.at(turn.uid);
  if (books_.nodes_per_rack == 0 || claim.rests || !Offered(books_, claim)) return;
  const bool at_once = AtOnce(books_, claim, {turn.time, 0});
  const auto nodes = static_cast<size_t>(NodesOf(claim, turn.time));
  if (at_once && RefillsFor(claim).size() < nodes) return;
  Seats seats;
  seats.Add(OwnPlaces(claim, turn.time, std::min(nodes, RefillsFor(claim).size())));
  while (!seats.empty()) {
    const std::string id = Choose(claim, RefillsFor(claim), [&](const Machine& machine) {
      return SoChosen(claim, turn.time, machine);
    });
    Grant(claim, turn.time, id, seats);
  }
}

// "NVL72 types are granted in whole racks only" (5).
void Round::ServeRacks(Claim& claim, const Turn& turn) {
  // Of a gang every request stands by itself; the requests of others may make up a rack together,
  // at the place of the last of them.
  if (claim.rests) return;
  Seats& passed = passed_[{claim.uid, claim.gang ? turn.time : absl::InfinitePast()}];
  passed.Add(turn.places);
  const auto guided = [&](const Machine& machine) {
    return RackSoPlaced(claim, machine, passed) &&
           (claim.gang ? SoChosen(claim, turn.time, machine) : RackSoChosen(claim, machine));
  };
  const auto rack = static_cast<size_t>(books_.nodes_per_rack);
  while (passed.size() >= rack && !WholeRacksFor(claim).empty()) {
    GrantRack(claim, claim.gang ? std::optional(turn.time) : std::nullopt,
              Choose(claim, WholeRacksFor(claim), guided), passed);
  }
}

void Round::ServeGangOfRacks(Claim& claim, const Turn& turn) {
  const absl::Time time = turn.time;
  const int64_t nodes = NodesOf(claim, time);
  const auto guided = [&](const Machine& machine) { return SoChosen(claim, time, machine); };
  const int64_t racks = nodes / books_.nodes_per_rack;
  const int64_t refills = nodes % books_.nodes_per_rack;
  const Ids whole = WholeRacksFor(claim);
  if (!claim.rests && static_cast<int64_t>(whole.size()) >= racks &&
      static_cast<int64_t>(RefillsFor(claim).size()) >= refills) {
    Seats seats;
    seats.Add(turn.places);
    for (int64_t i = 0; i < refills; ++i)
      Grant(claim, time, Choose(claim, RefillsFor(claim), guided), seats);
    for (int64_t i = 0; i < racks; ++i)
      GrantRack(claim, time, Choose(claim, WholeRacksFor(claim), guided), seats);
    return;
  }
  // No rack completes a request that wants none.
  if (racks == 0 || !Keeps(time) || !CanEverBeMet(books_, claim, {time, nodes})) return;
  for (const std::string& id : whole) {
    for (const auto& [other, machine] : books_.machines) {
      if (machine.rack == books_.machines.at(id).rack) kept_.insert(other);
    }
  }
}

Round::Ids Round::FreeFor(const Claim& claim) const {
  const bool spot = claim.compute_class == ComputeClass::kSpot;
  Ids ids;
  for (const auto& [id, machine] : books_.machines) {
    if (machine.state != MachineState::kFree || !Takes(claim.affinity, machine.labels)) continue;
    if (promised_.count(id) > 0 || (!spot && kept_.count(id) > 0)) continue;
    ids.push_back(id);
  }
  return ids;
}

Round::Ids Round::WholeRacksFor(const Claim& claim) const {
  std::map<std::string, Ids> racks;
  for (const std::string& id : FreeFor(claim)) racks[books_.machines.at(id).rack].push_back(id);
  Ids whole;
  for (const auto& [rack, ids] : racks) {
    if (static_cast<int64_t>(ids.size()) == books_.nodes_per_rack) whole.push_back(ids[0]);
  }
  return whole;
}

Round::Ids Round::RefillsFor(const Claim& claim) const {
  Ids ids;
  for (const std::string& id : FreeFor(claim)) {
    if (InOwnRack(books_, claim, books_.machines.at(id))) ids.push_back(id);
  }
  return ids;
}

// For a type in whole racks an affinity counts only if it matches all machines of the rack.
int64_t Round::WaitingAffinities(const Claim& claim, const Machine& machine,
                                 bool default_only) const {
  std::set<Affinity> affinities;
  for (const auto& [uid, other] : books_.claims) {
    if (uid == claim.uid || other.requests.empty() || other.affinity.terms().empty()) continue;
    if (!Offered(books_, other)) continue;
    if (default_only && other.compute_class == ComputeClass::kSpot) continue;
    const bool all = std::all_of(
        books_.machines.begin(), books_.machines.end(), [&, &asking = other](const auto& entry) {
          const bool meant = books_.nodes_per_rack == 0 ? entry.first == machine.id
                                                        : entry.second.rack == machine.rack;
          return !meant || Takes(asking.affinity, entry.second.labels);
        });
    if (all) affinities.insert(other.affinity);
  }
  return static_cast<int64_t>(affinities.size());
}

// "Placement prefers to keep a pool on one fabric and to fill racks" (5): so the first that it gets
// more, in a rack where it has some; the others may follow that.
void Round::PreferOwnPlace(const Claim& claim, Ids& ids) const {
  if (served_.count(claim.uid) > 0) return;
  const auto held = [&claim](const auto& places, const std::string& place) {
    const auto it = places.find({claim.uid, place});
    return it == places.end() ? 0 : it->second;
  };
  const auto machine = [this](const std::string& id) -> const Machine& {
    return books_.machines.at(id);
  };
  KeepLeast(ids, [&](const std::string& id) { return -held(fabrics_, machine(id).fabric); });
  std::set<std::string> fillable;  // fabrics
  for (const std::string& id : ids) {
    if (held(racks_, machine(id).rack) > 0) fillable.insert(machine(id).fabric);
  }
  KeepLeast(ids, [&](const std::string& id) {
    return fillable.count(machine(id).fabric) > 0 && held(racks_, machine(id).rack) == 0 ? 1 : 0;
  });
}

std::string Round::Choose(const Claim& claim, Ids ids, const Test& guided) const {
  // The rules do not say which gap in its own racks is filled first.
  const bool refill =
      books_.nodes_per_rack > 0 && InOwnRack(books_, claim, books_.machines.at(ids[0]));
  // "A claim without affinity takes machines that the fewest waiting affinities match" (12); so
  // does one with, of those that it matches.
  if (!refill) {
    KeepLeast(ids, [&](const std::string& id) {
      return WaitingAffinities(claim, books_.machines.at(id), false);
    });
    PreferOwnPlace(claim, ids);
  }
  for (const std::string& id : ids) {
    if (guided(books_.machines.at(id))) return id;
  }
  return ids[0];
}

bool Round::SoChosen(const Claim& claim, absl::Time time, const Machine& machine) const {
  const auto after = guide_.find(machine.id);
  return after != guide_.end() && after->second.claim == claim.uid &&
         after->second.request_time == time;
}

// All of its rack, for the oldest requests.
bool Round::RackSoChosen(const Claim& claim, const Machine& first) const {
  std::vector<absl::Time> due;
  for (const Request& request : claim.requests)
    due.insert(due.end(), static_cast<size_t>(request.nodes), request.time);
  size_t next = 0;
  for (const auto& [id, machine] : books_.machines) {
    if (machine.rack == first.rack && !SoChosen(claim, due[next++], machine)) return false;
  }
  return true;
}

std::vector<absl::Time>::iterator Round::SoPlaced(const Machine& machine, Seats& seats) const {
  const auto after = guide_.find(machine.id);
  if (after == guide_.end() || !after->second.request_time) return seats.times.end();
  return std::find(seats.times.begin(), seats.times.end(),
                   after->second.place_time.value_or(*after->second.request_time));
}

// All that is free of the machine's rack.
bool Round::RackSoPlaced(const Claim& claim, const Machine& first, Seats seats) const {
  for (const std::string& id : FreeFor(claim)) {
    const Machine& machine = books_.machines.at(id);
    if (machine.rack != first.rack) continue;
    const auto placed = SoPlaced(machine, seats);
    if (placed == seats.times.end()) return false;
    seats.times.erase(placed);
  }
  return true;
}

void Round::UseUp(Claim& claim, const Place& place) {
  const auto own = std::find(claim.places.begin(), claim.places.end(), place);
  if (own != claim.places.end()) {
    claim.places.erase(own);
    return;
  }
  for (auto& [uid, other] : books_.claims) {
    const auto theirs = std::find(other.places.begin(), other.places.end(), place);
    if (other.organization != claim.organization || theirs == other.places.end()) continue;
    *theirs = claim.places.back();
    claim.places.pop_back();
    std::sort(other.places.begin(), other.places.end());
    return;
  }
}

std::vector<Place> Round::OwnPlaces(const Claim& claim, absl::Time time, size_t nodes) const {
  std::vector<Place> places = claim.places;
  std::stable_partition(places.begin(), places.end(), [&](const Place& place) {
    return place == Place{time, claim.uid};
  });
  places.resize(nodes);
  return places;
}

void Round::Grant(Claim& claim, absl::Time time, const std::string& id, Seats& seats) {
  Machine& machine = books_.machines.at(id);
  served_.insert(claim.uid);
  auto placed = SoPlaced(machine, seats);
  if (placed == seats.times.end()) placed = seats.times.begin();
  UseUp(claim, seats.places.front());
  machine.state = MachineState::kHeld;
  machine.claim = claim.uid;
  machine.request_time = time;
  machine.place_time = *placed;
  machine.held_since = now_;
  seats.times.erase(placed);
  seats.places.erase(seats.places.begin());
  for (size_t i = 0; i < claim.requests.size(); ++i) {
    if (claim.requests[i].time != time) continue;
    if (--claim.requests[i].nodes == 0)
      claim.requests.erase(claim.requests.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void Round::GrantRack(Claim& claim, std::optional<absl::Time> time, const std::string& id,
                      Seats& seats) {
  const std::string rack = books_.machines.at(id).rack;
  for (const std::string& other : FreeFor(claim)) {
    if (books_.machines.at(other).rack == rack)
      Grant(claim, time.value_or(claim.requests.front().time), other, seats);
  }
}

}  // namespace muster::model
