#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/reconcile/delay_queue.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/options.h"

namespace muster::simulation {

// The pools that a replica has to look at: the service's own DelayQueue, and a check of its promise
// that no pool that is due waits while another is looked at twice.
class Agenda {
 public:
  // Both must outlive it.
  Agenda(const SteadyClock& clock, InvariantChecker& checker, Bug bug)
      : due_(&clock), checker_(checker), bug_(bug) {}

  void Add(const std::string& pool, absl::Duration delay) {
    due_.AddIn(pool, delay);
    if (delay <= absl::ZeroDuration()) overtook_.try_emplace(pool);
  }
  std::vector<std::string> Take(size_t most) {
    std::vector<std::string> pools = bug_ == Bug::kStarvation ? ByName(most) : due_.Take(most);
    for (const std::string& pool : pools) overtook_.erase(pool);
    for (auto& [waiting, others] : overtook_) {
      for (const std::string& pool : pools) {
        if (!others.insert(pool).second)
          checker_.Fail(waiting + " is due, and " + pool + " is looked at twice before it");
      }
    }
    return pools;
  }
  // Until one becomes due; infinite: none will.
  absl::Duration UntilNext() const { return due_.UntilNext(); }

 private:
  // Bug::kStarvation: pools late in the alphabet wait.
  std::vector<std::string> ByName(size_t most) {
    std::vector<std::string> pools = due_.Take(1'000);
    std::sort(pools.begin(), pools.end());
    for (; pools.size() > most; pools.pop_back()) due_.Add(pools.back());
    return pools;
  }

  lifecycle::DelayQueue due_;
  InvariantChecker& checker_;
  const Bug bug_;
  std::map<std::string, std::set<std::string>> overtook_;  // by due pool: those taken before it
};

}  // namespace muster::simulation
