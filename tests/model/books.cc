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

namespace {

// One Node that waits, with its place.
struct Waiting {
  Place place = {};
  std::string uid = {};
  absl::Time time = absl::UnixEpoch();  // of its request
};

// "Orders the requests of one organization among themselves ... equal values first come, first
// served" (11).
std::vector<Waiting> NodesOf(const Books& books, const std::string& organization, bool spot) {
  std::vector<Waiting> nodes;
  std::vector<Place> places;
  for (const auto& [uid, claim] : books.claims) {
    if (claim.organization != organization || (claim.compute_class == ComputeClass::kSpot) != spot)
      continue;
    for (const Request& request : claim.requests)
      nodes.insert(nodes.end(), static_cast<size_t>(request.nodes), {{}, uid, request.time});
    places.insert(places.end(), claim.places.begin(), claim.places.end());
  }
  const auto key = [&books](const Waiting& node) {
    return std::make_tuple(-int64_t{books.claims.at(node.uid).priority}, node.time, node.uid);
  };
  std::sort(nodes.begin(), nodes.end(),
            [&](const Waiting& a, const Waiting& b) { return key(a) < key(b); });
  // "Each organization's earliest places go to its own highest priority" (11).
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].place = places.at(i);
  return nodes;
}

// "Reserved and on-demand before spot" (5); "between organizations the time of the request decides"
// (11).
std::vector<Waiting> QueueOf(const Books& books) {
  std::set<std::string> organizations;
  for (const auto& [uid, claim] : books.claims) organizations.insert(claim.organization);
  std::vector<Waiting> queue;
  for (const bool spot : {false, true}) {
    std::vector<Waiting> nodes;
    for (const std::string& organization : organizations) {
      for (const Waiting& node : NodesOf(books, organization, spot)) nodes.push_back(node);
    }
    std::stable_sort(nodes.begin(), nodes.end(), [](const Waiting& a, const Waiting& b) {
      return a.place.time < b.place.time;
    });
    queue.insert(queue.end(), nodes.begin(), nodes.end());
  }
  return queue;
}

}  // namespace

std::vector<Turn> OrderOf(const Books& books) {
  std::vector<Turn> turns;
  std::map<std::pair<std::string, absl::Time>, std::vector<Place>> gathered;
  for (const Waiting& node : QueueOf(books)) {
    const Claim& claim = books.claims.at(node.uid);
    std::vector<Place>& places = gathered[{node.uid, node.time}];
    places.push_back(node.place);
    const auto request = std::find_if(claim.requests.begin(), claim.requests.end(),
                                      [&](const Request& one) { return one.time == node.time; });
    if (AtOnce(books, claim, *request) && static_cast<int64_t>(places.size()) < request->nodes)
      continue;
    turns.push_back({node.uid, node.time, places});
    places.clear();
  }
  return turns;
}

capacity::QueuePlace PlaceOf(const Books& books, const Claim& claim) {
  capacity::QueuePlace place;
  if (claim.requests.empty() || claim.rests) return place;
  std::set<std::pair<std::string, absl::Time>> own;  // requests of its organization
  std::set<std::pair<std::string, Place>> others;
  int64_t before = 0;  // Nodes of others up to here
  for (const Waiting& node : QueueOf(books)) {
    const std::string& organization = books.claims.at(node.uid).organization;
    if (node.uid == claim.uid) {
      if (place.place == 0) place.place = 1 + static_cast<int64_t>(own.size() + others.size());
      place.nodes_ahead = before;
    } else {
      ++before;
    }
    if (organization == claim.organization)
      own.insert({node.uid, node.time});
    else
      others.insert({organization, node.place});
  }
  return place;
}

bool Takes(const Affinity& affinity, const std::map<std::string, std::string>& labels) {
  if (affinity.terms().empty()) return true;
  return std::any_of(affinity.terms().begin(), affinity.terms().end(), [&](const auto& term) {
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

void AddRequest(Claim& claim, absl::Time time, int64_t nodes, absl::Time place) {
  claim.places.insert(claim.places.end(), static_cast<size_t>(nodes), {place, claim.uid});
  std::sort(claim.places.begin(), claim.places.end());
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
    claim.places.pop_back();
  }
}

bool AtOnce(const Books& books, const Claim& claim, const Request& request) {
  if (!claim.gang || claim.lost.count(request.time) > 0) return false;
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
    if (older.time == request.time) {
      // Requests of a claim that is no gang may make up a rack together.
      return Enough(books, reach, claim.gang ? request.nodes : Outstanding(claim), at_once);
    }
    if (!at_once || !Enough(books, reach, older.nodes, true)) continue;
    const int64_t rack = books.nodes_per_rack;
    reach.racks -= rack == 0 ? 0 : older.nodes / rack;
    reach.machines -= rack == 0 ? older.nodes : older.nodes % rack;
  }
  return false;
}

ClaimReason ReasonOf(const Books& books, const Claim& claim) {
  if (!Offered(books, claim)) return ClaimReason::kNotInZone;
  if (claim.requests.empty() || claim.rests) return ClaimReason::kSufficient;
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
