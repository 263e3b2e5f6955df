#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/lease.h"

namespace muster::simulation {

// What must hold of who leads, in durations of the world: nobody keeps the lease for longer than
// its ttl who cannot commit, and soon after somebody leads who can, if there is such a one.
class LeadChecker {
 public:
  LeadChecker(absl::Duration ttl, absl::Duration beat) : ttl_(ttl), beat_(beat) {}

  // A process, as it is once all have beaten.
  struct Standing {
    std::string holder = {};
    bool leads = false;       // by what it believes, and by the journal
    bool is_able = false;     // nothing is wrong with it
    bool can_commit = false;  // it could, or nothing showed that it could not
  };
  // What is wrong, or empty. `is_held`: the row is not over, by the clock of its database.
  std::string Check(absl::Duration now, const std::optional<lifecycle::Heartbeat>& row,
                    bool is_held, const std::vector<Standing>& all);
  // The database's clock was set, or it was restored: whoever has the row may have it for once
  // more its length.
  void Disturbed(absl::Duration now) { disturbed_ = now; }
  // Somebody who beat was not answered: it has the row, and does not know.
  void Shaken(absl::Duration now) { shaken_ = now; }

 private:
  struct Known {
    absl::Duration able_since = absl::InfiniteDuration();
    absl::Duration could_commit = -absl::InfiniteDuration();
  };

  const absl::Duration ttl_;
  const absl::Duration beat_;
  std::map<std::string, Known> known_;              // by holder; also of those that died
  absl::Duration led_ = -absl::InfiniteDuration();  // somebody who can commit
  absl::Duration disturbed_ = -absl::InfiniteDuration();
  absl::Duration shaken_ = -absl::InfiniteDuration();
};

}  // namespace muster::simulation
