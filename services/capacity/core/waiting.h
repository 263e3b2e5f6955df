#pragma once

#include <cstdint>
#include <vector>

#include "services/capacity/core/affinity.h"
#include "services/capacity/core/queue.h"

namespace muster::capacity {

// The affinities, each once, for which somebody waits, as they were when it was made. Machines that
// few of them match are given away first (semantics.md 12).
class WaitingAffinities {
 public:
  // `spot`: those for which only spot claims wait count too.
  WaitingAffinities(const Queue& queue, bool spot);

  bool empty() const { return affinities_.empty(); }
  const std::vector<Affinity>& affinities() const { return affinities_; }
  int64_t CountMatching(const Labels& labels) const;

 private:
  std::vector<Affinity> affinities_;
};

}  // namespace muster::capacity
