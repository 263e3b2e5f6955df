#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
  // Costs one look at each affinity the first time that labels are asked for. Not thread-safe.
  int64_t CountMatching(const Labels& labels) const;

 private:
  std::vector<Affinity> affinities_;
  mutable absl::flat_hash_map<Labels, int64_t> counts_;  // of what was asked for
};

}  // namespace muster::capacity
