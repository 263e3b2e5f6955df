#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/model/books.h"

namespace muster::model {

// Where the text leaves a choice open, the model follows: the machines after the same decision as
// the core has them.
using Guide = std::map<std::string, capacity::MachineRow>;

struct Terms {
  absl::Duration gang_keep = absl::Hours(24);
};

// One decision: who gets what is free, what is reclaimed for whom, which reclaims are taken back.
class Round {
 public:
  Round(Books& books, const Guide& guide, absl::Time now, const Terms& terms)
      : books_(books), guide_(guide), now_(now), terms_(terms) {}

  void Run();

 private:
  using Ids = std::vector<std::string>;
  using Test = std::function<bool(const Machine&)>;

  void Refill(const Turn& turn);
  void Serve(const Turn& turn);
  void ServeSingles(Claim& claim, const Turn& turn);
  void ServeGang(Claim& claim, const Turn& turn);
  void ServeRacks(Claim& claim, const Turn& turn);
  void ServeGangOfRacks(Claim& claim, const Turn& turn);
  void TakeBack();

  // Free machines that the claim may have at its turn.
  Ids FreeFor(const Claim& claim) const;
  // Whole racks of them, by one machine of each.
  Ids WholeRacksFor(const Claim& claim) const;
  Ids RefillsFor(const Claim& claim) const;
  // Being reclaimed, and for nobody yet.
  Ids ComingFor(const Claim& claim) const;
  Ids VictimsFor(const Claim& claim) const;

  // The one of `ids` that the claim gets, or that is reclaimed for it.
  std::string Choose(const Claim& claim, Ids ids, const Test& guided) const;
  // Keeps of `ids` those with the least value.
  template <class Value>
  static void KeepLeast(Ids& ids, Value value) {
    if (ids.empty()) return;
    auto least = value(ids[0]);
    for (const std::string& id : ids) least = std::min(least, value(id));
    Ids kept;
    for (const std::string& id : ids) {
      if (value(id) == least) kept.push_back(id);
    }
    ids = kept;
  }
  // How many different affinities, for which others wait, the machine matches.
  int64_t WaitingAffinities(const Claim& claim, const Machine& machine, bool default_only) const;
  void PreferOwnPlace(const Claim& claim, Ids& ids) const;

  // Places that a claim may use up, oldest first. At which of them a machine is granted matters to
  // nobody but the claim: those are the times.
  struct Seats {
    std::vector<Place> places = {};
    std::vector<absl::Time> times = {};
    void Add(const std::vector<Place>& more) {
      places.insert(places.end(), more.begin(), more.end());
      for (const Place& place : more) times.push_back(place.time);
    }
    size_t size() const { return places.size(); }
    bool empty() const { return places.empty(); }
  };

  // The oldest of the places is used up.
  void Grant(Claim& claim, absl::Time time, const std::string& id, Seats& seats);
  // nullopt: each for the oldest request.
  void GrantRack(Claim& claim, std::optional<absl::Time> time, const std::string& id, Seats& seats);
  // A place of another of the organization is left for the claim's own youngest.
  void UseUp(Claim& claim, const Place& place);
  // Places of its own for what only it may have: of the request, then the oldest.
  std::vector<Place> OwnPlaces(const Claim& claim, absl::Time time, size_t nodes) const;
  // Lets up to `nodes` machines come for the claim.
  void Fetch(const Claim& claim, int64_t nodes);
  // The one of ComingFor and VictimsFor that comes.
  std::string ChooseToCome(const Claim& claim) const;
  int64_t ShareLost(const std::string& uid) const;
  void KeepOfOnePool(Ids& ids) const;
  bool DrainBegan(const Machine& machine) const;
  bool Keeps(absl::Time time) const { return now_ < time + terms_.gang_keep; }
  int64_t NodesOf(const Claim& claim, absl::Time time) const;
  bool RackSoChosen(const Claim& claim, const Machine& first) const;
  std::vector<absl::Time>::iterator SoPlaced(const Machine& machine, Seats& seats) const;
  bool RackSoPlaced(const Claim& claim, const Machine& first, Seats seats) const;
  bool SoChosen(const Claim& claim, absl::Time time, const Machine& machine) const;

  Books& books_;
  const Guide& guide_;
  const absl::Time now_;
  const Terms terms_;
  // By claim and fabric, and by claim and rack: how many machines the claim held before.
  std::map<std::pair<std::string, std::string>, int64_t> fabrics_;
  std::map<std::pair<std::string, std::string>, int64_t> racks_;
  std::set<std::string> served_;  // claims that got a machine
  // Of types in whole racks, by claim (and request of a gang): the places up to here, not used up.
  std::map<std::pair<std::string, absl::Time>, Seats> passed_;
  std::set<std::string> kept_;      // from default claims behind a gang; lent to spot
  std::set<std::string> promised_;  // free, and a gang gets them with what comes: not lent
  std::set<std::string> missed_;    // being reclaimed, and somebody is short by them
};

}  // namespace muster::model
