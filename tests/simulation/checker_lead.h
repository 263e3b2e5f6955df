#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/lease.h"

namespace muster::simulation {

// What must hold of the leader, in durations of the world: a process that cannot commit does not
// keep the lease for longer than its ttl, and soon after that one that can leads, if there is any.
class LeadChecker {
 public:
  LeadChecker(absl::Duration ttl, absl::Duration beat) : ttl_(ttl), beat_(beat) {}

  // One process, after each has beaten.
  struct Standing {
    std::string holder = {};
    bool leads = false;       // by what it believes, and by the journal
    bool is_able = false;     // nothing is wrong with it
    bool can_commit = false;  // it could, or nothing showed that it could not
  };
  // What is wrong; empty: nothing. `is_held`: the row has not expired, by its database's clock.
  std::string Check(absl::Duration now, const std::optional<lifecycle::Heartbeat>& row,
                    bool is_held, const std::vector<Standing>& all);
  // The database's clock was set, or the database restored: the row's holder may keep it for one
  // more ttl.
  void Disturbed(absl::Duration now) { disturbed_ = now; }
  // A beat was written and its answer lost: the process has the row, and does not know it.
  void Shaken(absl::Duration now) { shaken_ = now; }
  // A piece of a takeover was committed, and the next is to come after another beat.
  void GotOn(absl::Duration now) { got_on_ = now; }

 private:
  struct Known {
    absl::Duration able_since = absl::InfiniteDuration();
    absl::Duration could_commit = -absl::InfiniteDuration();
  };

  const absl::Duration ttl_;
  const absl::Duration beat_;
  std::map<std::string, Known> known_;              // by holder; also of those that died
  absl::Duration led_ = -absl::InfiniteDuration();  // when one that could commit led last
  absl::Duration disturbed_ = -absl::InfiniteDuration();
  absl::Duration shaken_ = -absl::InfiniteDuration();
  absl::Duration got_on_ = -absl::InfiniteDuration();
};

}  // namespace muster::simulation
