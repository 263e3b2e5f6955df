#pragma once

#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "services/capacity/core/depot.h"

namespace muster::capacity {

// Which spot machine of a depot is reclaimed next. Fairly spread: it is of the claim for which
// (machines being reclaimed + 1) / (machines held, those included) is least; ties go to the claim
// with fewest being reclaimed, then to the one whose newest machine is newest, then by uid. Within
// a claim the newest held first, then by id.
class Victims {
 public:
  // The depot must outlive this, and change only by Next's machines being reclaimed.
  explicit Victims(const Depot& depot) : depot_(depot) {}

  // The next machine that matches. nullopt: there is none. The first call for an affinity costs
  // O(spot claims × label classes), every other O(log).
  std::optional<std::string> Next(const Affinity& affinity);

 private:
  struct Candidate {
    SpotHolding holding = {};
    Newest newest = {};
    std::string pool_uid = {};
    bool operator==(const Candidate&) const = default;
    // Whether the other comes before it.
    bool operator<(const Candidate& other) const;
  };
  using Candidates = std::priority_queue<Candidate>;

  Candidates Find(const Affinity& affinity) const;
  // As it is now. nullopt: the claim has no machine left that matches.
  std::optional<Candidate> Look(const Affinity& affinity, const std::string& pool_uid) const;

  const Depot& depot_;
  std::map<Affinity, Candidates> known_;
};

}  // namespace muster::capacity
