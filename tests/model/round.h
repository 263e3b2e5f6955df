#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/model/books.h"

namespace muster::model {

// The machines as the core has them after the same decision. Where the written rules leave a choice
// open, the model chooses as the core did.
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
  // Whether the gang is completed by machines that now come for it.
  bool Complete(const Claim& claim, int64_t nodes);
  void ServeRacks(Claim& claim, const Turn& turn);
  void ServeGangOfRacks(Claim& claim, const Turn& turn);
  void TakeBack();

  // Free machines that the claim may have at its turn.
  Ids FreeFor(const Claim& claim) const;
  // One machine of each rack that is free for the claim as a whole.
  Ids WholeRacksFor(const Claim& claim) const;
  // Free machines in racks where only the claim holds machines.
  Ids RefillsFor(const Claim& claim) const;
  // Machines that the claim may have, and that are being reclaimed for nobody yet.
  Ids ComingFor(const Claim& claim) const;
  // Spot's machines that could be reclaimed for the claim.
  Ids VictimsFor(const Claim& claim) const;

  // The one of `ids` that the claim gets: where the rules leave it open, one for which `guided`
  // holds.
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
  // How many different affinities of other claims that wait the machine matches.
  int64_t WaitingAffinities(const Claim& claim, const Machine& machine, bool default_only) const;
  void PreferOwnPlace(const Claim& claim, Ids& ids) const;

  // Places that a claim may use up, oldest first. Each machine uses up the oldest one, but may bear
  // the time of any of them: that matters to nobody but the claim.
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

  // Grants the machine to the claim's request of that time, and uses up the oldest place of
  // `seats`.
  void Grant(Claim& claim, absl::Time time, const std::string& id, Seats& seats);
  // The same for all machines of the rack. `time` nullopt: each for the oldest request there is
  // then.
  void GrantRack(Claim& claim, std::optional<absl::Time> time, const std::string& id, Seats& seats);
  // Uses up a place. One of another claim of the organization: that gets the claim's youngest
  // instead.
  void UseUp(Claim& claim, const Place& place);
  // The claim's own places for machines that only it may have: first those of the request of that
  // time, then its oldest.
  std::vector<Place> OwnPlaces(const Claim& claim, absl::Time time, size_t nodes) const;
  // Has up to `nodes` machines come for the claim: being reclaimed already, or reclaimed now.
  void Fetch(const Claim& claim, int64_t nodes);
  // Which machine of ComingFor and VictimsFor is to come next.
  std::string ChooseToCome(const Claim& claim) const;
  int64_t ShareLost(const std::string& uid) const;
  // The one of `ids` that the core reclaims, for the claim if that can be told; else the first.
  std::string SoReclaimed(const Claim& claim, Ids ids) const;
  bool DrainBegan(const Machine& machine) const;
  bool Keeps(absl::Time time) const { return now_ < time + terms_.gang_keep; }
  int64_t NodesOf(const Claim& claim, absl::Time time) const;
  // Whether, or at which place, the core granted the machine or its rack so (Guide).
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
  // For types in whole racks, by claim (and request, of a gang): places whose turn has come, not
  // used up.
  std::map<std::pair<std::string, absl::Time>, Seats> passed_;
  // A gang that keeps nothing any more, with what is kept for those ahead of it.
  struct Overdue {
    std::string uid = {};
    int64_t nodes = 0;
    std::set<std::string> kept = {};
  };
  std::vector<Overdue> overdue_;
  std::set<std::string> kept_;      // for a gang, from default claims behind it; lent to spot
  std::set<std::string> promised_;  // free ones that a gang gets with those that come: not lent
  std::set<std::string> resting_;   // free ones that a claim at rest could have: not for spot
  std::set<std::string> missed_;    // being reclaimed for a claim that is short: not taken back
};

}  // namespace muster::model
