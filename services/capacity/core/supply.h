#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/state.h"
#include "services/capacity/core/victims.h"
#include "services/capacity/core/waiting.h"

namespace muster::capacity {

// The machines that can come from spot for default claims that are short: those being reclaimed
// (every decision works out anew for whom), and those that could be. A machine that is reclaimed
// stays with its spot claim until that gives it back; then it is free, and goes to the first in the
// queue that may have it. Its earmark only tells what is to be expected.
class Supply {
 public:
  // `notice`: for how long after its decision a reclaim can be taken back.
  Supply(StagedState<State>& staged, const Inventory& inventory, absl::Time now,
         absl::Duration notice);

  // How many eligible machines could still come. Costs O(label classes).
  int64_t Count(const EligibleMachines& eligible) const;

  // Whether machines of the class could still come.
  bool HasAnyOf(const LabelClasses::value_type& machines) const {
    return machines.second.counts.reclaimable > 0 || coming_.contains(machines.first);
  }

  // Lets `nodes` of them come for the claim; there must be as many. Of those that the fewest
  // waiting affinities match: what comes already, first what cannot be taken back, then what is
  // held for the shortest time; then newly chosen ones (victims.h). Costs O(label classes) at first
  // and each time that machines which more of the affinities match have their turn, O(log) for each
  // that comes already, and as Victims for the new ones.
  void Fetch(const std::string& uid, const EligibleMachines& eligible, int64_t nodes);

  // To be called at the end. What comes for nobody is held again if its notice is not over, and
  // keeps its state_time; else it goes back all the same and will be free. Every reclaim, and every
  // one taken back, adds one to the spot claim's reclaim_generation.
  void Finish();

 private:
  struct Coming {
    bool can_be_taken_back = true;
    HeldMachine held;
    bool operator<(const Coming& other) const {
      return std::tie(can_be_taken_back, held) < std::tie(other.can_be_taken_back, other.held);
    }
  };
  struct Promise {
    std::string machine = {};
    std::string uid = {};
  };

  using ByLabels = std::map<Labels, absl::btree_set<Coming>>;
  // What is least wanted of those that are eligible: it stays so until the last of it is fetched.
  struct Level {
    EligibleMachines eligible = {};
    int64_t left = 0;
    absl::btree_map<Coming, ByLabels::iterator> coming = {};  // the first of each labels
    std::optional<Victims> victims = {};                      // once nothing comes any more
  };

  Level LeastOf(const EligibleMachines& eligible);
  // The id of the next one that comes; it comes for nobody else.
  std::string Next(Level& level);
  void Reclaim(MachineRow machine);
  void TakeBack(const std::string& id);
  void Earmark(const std::vector<Promise>& promises);

  StagedState<State>& staged_;
  const Inventory& inventory_;
  const absl::Time now_;
  const absl::Duration notice_;
  const WaitingAffinities waiting_;  // of class default
  ByLabels coming_;                  // for nobody yet; none empty
  absl::btree_map<Labels, std::vector<Promise>> promised_;
  std::map<std::string, int64_t> told_;  // spot claim → reclaims begun and taken back
};

}  // namespace muster::capacity
