#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/books.h"

// What several snapshots of the books say together. Times here are of a steady clock, from any
// beginning. Pure.
namespace muster::lifecycle {

// Tells real differences from what only is on its way: a difference counts once every snapshot of
// some time has shown it and nothing of its pool changed meanwhile (its account, its Nodes'
// machines, its holding, its claim, its configuration). An orphan counts whatever else changes.
class BooksMemory {
 public:
  struct Standing {
    Difference difference = {};
    absl::Duration age = {};  // between the first snapshot that showed it so and the last
  };

  // The next snapshot. `now` never goes back.
  void Note(const Books& books, absl::Duration now);
  // Those that have stood for at least `age` (0: all of the last snapshot), in the order of
  // Differences.
  std::vector<Standing> Stood(absl::Duration age) const;
  void Forget() { seen_.clear(); }

 private:
  struct Seen {
    Difference difference = {};
    size_t mark = 0;  // what of its pool must stand still
    absl::Duration since = {};
  };
  using Key = std::tuple<DifferenceKind, std::string, std::string>;  // kind, uid, subject

  std::map<Key, Seen> seen_;
  absl::Duration last_ = {};
};

struct OrphanPolicy {
  // For how long a uid must have had no pool before what is left of it is given back. Longer than
  // any call can be under way.
  absl::Duration grace = absl::Minutes(15);
  // How many uids are given back in one round, at most.
  int most_a_round = 10;
  // While there is more than one orphan, and orphans are more than this share of all uids, nothing
  // is given back: it is likelier that lifecycle has forgotten pools (it was restored to a past)
  // than that the others have kept them. What was last asked for in an earlier history of lifecycle
  // is not given back either: its pool may be missing only because of the restore. 100: everything
  // is given back.
  int mass_percent = 20;
};

// Remembers which uids have no pool, and since when; decides which are to be given back now.
class OrphanMemory {
 public:
  struct Verdict {
    std::vector<std::string> release = {};  // uids, those known longest first
    // True: some have had no pool for longer than the grace and are kept for a person to look at,
    // because they are too many (IsMass) or of an earlier history.
    bool withheld = false;
    int64_t of_the_past = 0;  // uids without a pool that are of an earlier history
    int64_t orphans = 0;      // uids without a pool
    int64_t uids = 0;         // that quota, capacity or configuration know
  };

  // Uids that lifecycle last asked for in an earlier history; if there was one, also those that
  // only configuration knows. Empty at mass_percent 100.
  static std::set<std::string> OfThePast(const Books& books, const OrphanPolicy& policy);
  // True: there are so many orphans that lifecycle has probably forgotten their pools.
  static bool IsMass(int64_t orphans, int64_t uids, const OrphanPolicy& policy) {
    return orphans > 1 && orphans * 100 > uids * policy.mass_percent;
  }

  // Takes the books as they are now. `now` never goes back.
  Verdict Update(const Books& books, const OrphanPolicy& policy, absl::Duration now);
  void Forget() { since_.clear(); }

 private:
  std::map<std::string, absl::Duration> since_;  // by uid without a pool
};

}  // namespace muster::lifecycle
