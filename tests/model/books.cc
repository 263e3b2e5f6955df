#include "tests/model/books.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace muster::model {
namespace {

bool Holds(const capacity::AffinityExpression& asked,
           const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(asked.key);
  const bool there = label != labels.end();
  const bool listed = there && std::count(asked.values.begin(), asked.values.end(), label->second);
  switch (asked.op) {
    case capacity::AffinityOperator::kIn:
      return listed;
    case capacity::AffinityOperator::kNotIn:
      return !listed;
    case capacity::AffinityOperator::kExists:
      return there;
    case capacity::AffinityOperator::kDoesNotExist:
      return !there;
  }
  return false;
}

bool InService(const Machine& machine) {
  return machine.state != MachineState::kInRepair && machine.state != MachineState::kRetired;
}

// Machines that the claim does not hold and may get one day; `racks`: by rack.
std::map<std::string, int64_t> ElsewhereByRack(const Books& books, const Claim& claim) {
  std::map<std::string, int64_t> racks;
  for (const auto& [id, machine] : books.machines) {
    if (machine.state == MachineState::kRetired || machine.claim == claim.uid) continue;
    if (Takes(claim.affinity, machine.labels)) ++racks[machine.rack];
  }
  return racks;
}

bool HoldsIn(const Books& books, const Claim& claim, const std::string& rack) {
  return std::any_of(books.machines.begin(), books.machines.end(), [&](const auto& entry) {
    return entry.second.rack == rack && entry.second.claim == claim.uid;
  });
}

struct Reach {
  int64_t machines = 0;  // single ones, or holes in racks of its own
  int64_t racks = 0;     // that can become whole
};

Reach ReachOf(const Books& books, const Claim& claim) {
  Reach reach;
  for (const auto& [rack, count] : ElsewhereByRack(books, claim)) {
    if (books.nodes_per_rack == 0 || HoldsIn(books, claim, rack))
      reach.machines += count;
    else if (count >= books.nodes_per_rack)
      ++reach.racks;
  }
  return reach;
}

bool Enough(const Books& books, const Reach& reach, int64_t nodes, bool at_once) {
  const int64_t rack = books.nodes_per_rack;
  if (rack == 0) return reach.machines >= (at_once ? nodes : 1);
  if (at_once) return reach.racks >= nodes / rack && reach.machines >= nodes % rack;
  return reach.machines > 0 || (nodes >= rack && reach.racks > 0);
}

}  // namespace

// "Reserved and on-demand before spot; then scheduling priority, higher first; then the time; then
// pool uid" (5). All claims are of one organization.
std::vector<Turn> OrderOf(const Books& books) {
  std::vector<Turn> turns;
  for (const auto& [uid, claim] : books.claims) {
    for (const Request& request : claim.requests) turns.push_back({uid, request.time});
  }
  const auto key = [&books](const Turn& turn) {
    const Claim& claim = books.claims.at(turn.uid);
    return std::make_tuple(claim.compute_class == ComputeClass::kSpot, -int64_t{claim.priority},
                           turn.time, turn.uid);
  };
  std::sort(turns.begin(), turns.end(),
            [&](const Turn& a, const Turn& b) { return key(a) < key(b); });
  return turns;
}

capacity::QueuePlace PlaceOf(const Books& books, const Claim& claim) {
  capacity::QueuePlace place;
  if (claim.requests.empty()) return place;
  int64_t turns = 0;
  int64_t nodes = 0;
  for (const Turn& turn : OrderOf(books)) {
    ++turns;
    if (turn.uid == claim.uid) {
      if (turn.time == claim.requests.front().time) place.place = turns;
      place.nodes_ahead = nodes;
      continue;
    }
    for (const Request& request : books.claims.at(turn.uid).requests)
      nodes += request.time == turn.time ? request.nodes : 0;
  }
  return place;
}

bool Takes(const Affinity& affinity, const std::map<std::string, std::string>& labels) {
  if (affinity.terms.empty()) return true;
  return std::any_of(affinity.terms.begin(), affinity.terms.end(), [&](const auto& term) {
    return std::all_of(term.expressions.begin(), term.expressions.end(),
                       [&](const auto& asked) { return Holds(asked, labels); });
  });
}

bool Offered(const Books& books, const Claim& claim) {
  return books.offered && (claim.compute_class != ComputeClass::kSpot || books.spot_offered);
}

int64_t Held(const Books& books, const Claim& claim) {
  return std::count_if(books.machines.begin(), books.machines.end(),
                       [&](const auto& entry) { return entry.second.claim == claim.uid; });
}

int64_t Outstanding(const Claim& claim) {
  int64_t nodes = 0;
  for (const Request& request : claim.requests) nodes += request.nodes;
  return nodes;
}

void AddRequest(Claim& claim, absl::Time time, int64_t nodes) {
  for (Request& request : claim.requests) {
    if (request.time != time) continue;
    request.nodes += nodes;
    return;
  }
  claim.requests.push_back({time, nodes});
  std::sort(claim.requests.begin(), claim.requests.end(),
            [](const Request& a, const Request& b) { return a.time < b.time; });
}

void CancelYoungest(Claim& claim, int64_t nodes) {
  for (; nodes > 0; --nodes) {
    if (--claim.requests.back().nodes == 0) claim.requests.pop_back();
  }
}

bool AtOnce(const Books& books, const Claim& claim, const Request& request) {
  if (!claim.gang) return false;
  return std::none_of(books.machines.begin(), books.machines.end(), [&](const auto& entry) {
    return entry.second.claim == claim.uid && entry.second.request_time == request.time;
  });
}

bool InOwnRack(const Books& books, const Claim& claim, const Machine& machine) {
  std::set<std::string> holders;
  for (const auto& [id, other] : books.machines) {
    if (other.rack == machine.rack && !other.claim.empty()) holders.insert(other.claim);
  }
  return holders == std::set<std::string>{claim.uid};
}

bool CanEverBeMet(const Books& books, const Claim& claim, const Request& request) {
  Reach reach = ReachOf(books, claim);
  // What its older requests will take is not there for this one.
  for (const Request& older : claim.requests) {
    const bool at_once = AtOnce(books, claim, older);
    if (older.time == request.time) return Enough(books, reach, request.nodes, at_once);
    if (!at_once || !Enough(books, reach, older.nodes, true)) continue;
    const int64_t rack = books.nodes_per_rack;
    reach.racks -= rack == 0 ? 0 : older.nodes / rack;
    reach.machines -= rack == 0 ? older.nodes : older.nodes % rack;
  }
  return false;
}

ClaimReason ReasonOf(const Books& books, const Claim& claim) {
  if (!Offered(books, claim)) return ClaimReason::kNotInZone;
  if (claim.requests.empty()) return ClaimReason::kSufficient;
  int64_t in_service = 0;
  int64_t matching = 0;
  for (const auto& [id, machine] : books.machines) {
    if (!InService(machine)) continue;
    ++in_service;
    if (Takes(claim.affinity, machine.labels)) ++matching;
  }
  if (in_service == 0) return ClaimReason::kNoneAvailable;
  if (matching == 0) return ClaimReason::kNoneAvailableNodeAffinity;
  const auto can = [&books](const Claim& asked) {
    return std::any_of(asked.requests.begin(), asked.requests.end(),
                       [&](const Request& request) { return CanEverBeMet(books, asked, request); });
  };
  const int64_t held = Held(books, claim);
  if (claim.gang || books.nodes_per_rack > 0) {
    if (can(claim)) return ClaimReason::kQueued;
    Claim anywhere = claim;
    anywhere.affinity = {};
    if (can(anywhere))
      return held > 0 ? ClaimReason::kPartialNodeAffinity : ClaimReason::kNoneAvailableNodeAffinity;
    return held > 0 ? ClaimReason::kPartial : ClaimReason::kNoneAvailable;
  }
  int64_t own = 0;
  for (const auto& [id, machine] : books.machines)
    own += machine.claim == claim.uid && Takes(claim.affinity, machine.labels) ? 1 : 0;
  if (held == 0 || matching - own >= Outstanding(claim)) return ClaimReason::kQueued;
  return in_service >= claim.nodes ? ClaimReason::kPartialNodeAffinity : ClaimReason::kPartial;
}

}  // namespace muster::model
