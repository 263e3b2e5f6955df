#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/linearizability/search.h"

namespace muster::linearizability {

// An answer said that `claim` holds `machine`.
struct Sighting {
  std::string claim = {};
  std::string machine = {};
  Interval interval = {};  // of the call that was answered so
};

// A request that gives `machine` back for `claim`, if the claim holds it.
struct GivenBack {
  std::string claim = {};
  std::string machine = {};
  Interval interval = {};
};

// A time in which a claim surely held a machine.
struct Hold {
  int64_t from = 0;
  int64_t to = 0;
  std::string claim = {};
};

// Two claims that surely held one machine at one time, one sentence each. A claim surely holds what
// it was seen to hold from the end of that call until a request begins that may have given it back
// after it was seen.
inline std::vector<std::string> TwoHolders(const std::vector<Sighting>& seen,
                                           const std::vector<GivenBack>& given_back) {
  std::map<std::pair<std::string, std::string>, std::vector<Interval>> returns;
  for (const GivenBack& one : given_back) returns[{one.claim, one.machine}].push_back(one.interval);
  std::map<std::string, std::vector<Hold>> holds;
  for (const Sighting& one : seen) {
    Hold hold{one.interval.responded, kNever, one.claim};
    for (const Interval& back : returns[{one.claim, one.machine}]) {
      if (back.responded > one.interval.invoked) hold.to = std::min(hold.to, back.invoked);
    }
    if (hold.from < hold.to) holds[one.machine].push_back(hold);
  }
  std::vector<std::string> found;
  for (auto& [machine, list] : holds) {
    std::sort(list.begin(), list.end(),
              [](const Hold& a, const Hold& b) { return a.from < b.from; });
    // Of what began before, the longest of each claim is enough.
    std::map<std::string, int64_t> until;
    for (const Hold& hold : list) {
      for (const auto& [claim, to] : until) {
        if (claim != hold.claim && to > hold.from) {
          found.push_back(
              absl::StrCat(machine, " was held by ", claim, " and ", hold.claim, " at one time."));
        }
      }
      int64_t& to = until[hold.claim];
      to = std::max(to, hold.to);
    }
  }
  return found;
}

}  // namespace muster::linearizability
