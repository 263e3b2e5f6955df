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

// Tells what differs from what is on its way: a difference counts once it stood in every snapshot of
// some time, and nothing of its pool moved meanwhile (its account, its Nodes' machines, its
// holding, its claim, its configuration). Of an orphan nothing else needs to stand still.
class BooksMemory {
 public:
  struct Standing {
    Difference difference = {};
    absl::Duration age = {};  // between the first snapshot that showed it so and the last
  };

  // The next snapshot. `now` never goes back.
  void Note(const Books& books, absl::Duration now);
  // Those that stood for at least `age`: with 0 all of the last snapshot. In the order of
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
  // So long a uid has had no pool before what is left of it is given back. Longer than any call can
  // be under way.
  absl::Duration grace = absl::Minutes(15);
  // Uids whose rest is given back in one round.
  int most_a_round = 10;
  // With more than one orphan, and more than this share of all uids, nothing is given back: then
  // rather lifecycle has forgotten pools (it was restored to a past) than others have kept them.
  // 100: always give back. Neither is given back, but at 100, what a pool asked for in an earlier history
  // of lifecycle: its pool is younger than what lifecycle was restored to.
  int mass_percent = 20;
};

// Which uids have no pool, since when, and whose rest is to be given back now.
class OrphanMemory {
 public:
  struct Verdict {
    std::vector<std::string> release = {};  // uids, those known longest first
    // True: some have had no pool for longer than the grace, and are kept for a person to look at: they
    // are so many that none is released, or of an earlier history.
    bool withheld = false;
    int64_t of_the_past = 0;  // uids without a pool that are of an earlier history
    int64_t orphans = 0;      // uids without a pool
    int64_t uids = 0;         // that quota, capacity or configuration know
  };

  // Uids that lifecycle asked for in an earlier history and has not since; where there was one, those that only configuration knows, too.
  static std::set<std::string> OfThePast(const Books& books, const OrphanPolicy& policy);
  // So many that lifecycle rather forgot.
  static bool IsMass(int64_t orphans, int64_t uids, const OrphanPolicy& policy) {
    return orphans > 1 && orphans * 100 > uids * policy.mass_percent;
  }

  // `now` never goes back.
  Verdict Judge(const Books& books, const OrphanPolicy& policy, absl::Duration now);
  void Forget() { since_.clear(); }

 private:
  std::map<std::string, absl::Duration> since_;  // by uid without a pool
};

}  // namespace muster::lifecycle
