#include "tests/model/round.h"

#include <algorithm>

namespace muster::model {

void Round::Run() {
  for (const auto& [id, machine] : books_.machines) {
    ++fabrics_[{machine.claim, machine.fabric}];
    ++racks_[{machine.claim, machine.rack}];
  }
  const std::vector<Turn> order = OrderOf(books_);
  for (const Turn& turn : order) Refill(turn);
  for (const Turn& turn : order) Serve(turn);
  TakeBack();
}

void Round::Serve(const Turn& turn) {
  Claim& claim = books_.claims.at(turn.uid);
  if (!Offered(books_, claim)) return;
  const bool at_once = AtOnce(books_, claim, {turn.time, 0});
  if (books_.nodes_per_rack > 0)
    at_once ? ServeGangOfRacks(claim, turn.time) : ServeRacks(claim, turn.time);
  else
    at_once ? ServeGang(claim, turn.time) : ServeSingles(claim, turn.time);
}

int64_t Round::NodesOf(const Claim& claim, absl::Time time) const {
  for (const Request& request : claim.requests) {
    if (request.time == time) return request.nodes;
  }
  return 0;
}

// "Partial grants are normal" (5).
void Round::ServeSingles(Claim& claim, absl::Time time) {
  while (NodesOf(claim, time) > 0 && !FreeFor(claim).empty()) {
    Grant(claim, time, Choose(claim, FreeFor(claim), [&](const Machine& machine) {
            return SoChosen(claim, time, machine);
          }));
  }
  if (claim.compute_class == ComputeClass::kDefault) Fetch(claim, NodesOf(claim, time));
}

void Round::ServeGang(Claim& claim, absl::Time time) {
  const int64_t nodes = NodesOf(claim, time);
  const Ids free = FreeFor(claim);
  const auto have = static_cast<int64_t>(free.size());
  if (have >= nodes) return ServeSingles(claim, time);
  if (claim.compute_class == ComputeClass::kSpot || !Keeps(time)) return;
  const Ids coming = ComingFor(claim);
  const Ids victims = VictimsFor(claim);
  const size_t to_come = coming.size() + victims.size();
  if (have + static_cast<int64_t>(to_come) >= nodes) {
    kept_.insert(free.begin(), free.end());
    promised_.insert(free.begin(), free.end());
    Fetch(claim, nodes - have);
  } else if (CanEverBeMet(books_, claim, {time, nodes})) {
    for (const Ids& ids : {free, coming, victims}) kept_.insert(ids.begin(), ids.end());
  }
}

// A machine lost from a rack is replaced in it. Nobody else may have what is free there, so that
// the order has no say.
void Round::Refill(const Turn& turn) {
  Claim& claim = books_.claims.at(turn.uid);
  if (books_.nodes_per_rack == 0 || !Offered(books_, claim)) return;
  const bool at_once = AtOnce(books_, claim, {turn.time, 0});
  if (at_once && static_cast<int64_t>(RefillsFor(claim).size()) < NodesOf(claim, turn.time)) return;
  while (NodesOf(claim, turn.time) > 0 && !RefillsFor(claim).empty()) {
    Grant(claim, turn.time, Choose(claim, RefillsFor(claim), [&](const Machine& machine) {
            return SoChosen(claim, turn.time, machine);
          }));
  }
}

// "NVL72 types are granted in whole racks only" (5).
void Round::ServeRacks(Claim& claim, absl::Time time) {
  const auto guided = [&](const Machine& machine) {
    return claim.gang ? SoChosen(claim, time, machine) : RackSoChosen(claim, machine);
  };
  // Of a gang every request stands by itself; the requests of others may make up a rack together,
  // at the place of the last of them.
  int64_t single = 0;
  int64_t& passed = claim.gang ? single : passed_[claim.uid];
  passed += NodesOf(claim, time);
  while (passed >= books_.nodes_per_rack && !WholeRacksFor(claim).empty()) {
    passed -= books_.nodes_per_rack;
    GrantRack(claim, claim.gang ? std::optional(time) : std::nullopt,
              Choose(claim, WholeRacksFor(claim), guided));
  }
}

void Round::ServeGangOfRacks(Claim& claim, absl::Time time) {
  const int64_t nodes = NodesOf(claim, time);
  const auto guided = [&](const Machine& machine) { return SoChosen(claim, time, machine); };
  const int64_t racks = nodes / books_.nodes_per_rack;
  const int64_t refills = nodes % books_.nodes_per_rack;
  const Ids whole = WholeRacksFor(claim);
  if (static_cast<int64_t>(whole.size()) >= racks &&
      static_cast<int64_t>(RefillsFor(claim).size()) >= refills) {
    for (int64_t i = 0; i < refills; ++i)
      Grant(claim, time, Choose(claim, RefillsFor(claim), guided));
    for (int64_t i = 0; i < racks; ++i)
      GrantRack(claim, time, Choose(claim, WholeRacksFor(claim), guided));
    return;
  }
  if (!Keeps(time) || !CanEverBeMet(books_, claim, {time, nodes})) return;
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

// Of a type in whole racks an affinity waits for a machine when it matches all of its rack.
int64_t Round::WaitingAffinities(const Claim& claim, const Machine& machine,
                                 bool default_only) const {
  std::set<Affinity> affinities;
  for (const auto& [uid, other] : books_.claims) {
    if (uid == claim.uid || other.requests.empty() || other.affinity.terms.empty()) continue;
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
  // Which hole of its own racks is filled first matters to nobody.
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

void Round::Grant(Claim& claim, absl::Time time, const std::string& id) {
  Machine& machine = books_.machines.at(id);
  served_.insert(claim.uid);
  machine.state = MachineState::kHeld;
  machine.claim = claim.uid;
  machine.request_time = time;
  machine.held_since = now_;
  for (size_t i = 0; i < claim.requests.size(); ++i) {
    if (claim.requests[i].time != time) continue;
    if (--claim.requests[i].nodes == 0)
      claim.requests.erase(claim.requests.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void Round::GrantRack(Claim& claim, std::optional<absl::Time> time, const std::string& id) {
  const std::string rack = books_.machines.at(id).rack;
  for (const std::string& other : FreeFor(claim)) {
    if (books_.machines.at(other).rack == rack)
      Grant(claim, time.value_or(claim.requests.front().time), other);
  }
}

}  // namespace muster::model
