#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "services/capacity/core/affinity.h"
#include "services/capacity/core/queue.h"

namespace muster::capacity {

// The affinities for which somebody waits, each once: machines that match few of them are given away
// first. For the turns of one decision: the affinities are collected at the first use. After that
// nobody new may come to wait, and Recheck must be called for who may have gone. Not thread-safe.
class WaitingAffinities {
 public:
  // `spot`: those for which only spot claims wait count too. The queue must outlive it.
  WaitingAffinities(const Queue& queue, bool spot) : queue_(queue), spot_(spot) {}
  WaitingAffinities(const WaitingAffinities&) = delete;
  WaitingAffinities& operator=(const WaitingAffinities&) = delete;

  bool empty() const { return affinities().empty(); }
  const absl::btree_set<Affinity>& affinities() const;
  // Costs one look at each affinity the first time that labels are asked for.
  int64_t CountMatching(const Labels& labels) const;

  // To be called when somebody who waited with the affinity may have gone. True: it counts no more.
  // Costs O(log), and one look at all labels that were asked for if it counts no more.
  bool Recheck(const Affinity& affinity);

 private:
  bool Counts(const Queue::Line& line) const;
  bool IsWaitedFor(const Affinity& affinity) const;

  const Queue& queue_;
  const bool spot_;
  // Copies: a line goes and comes again when a place is exchanged.
  mutable std::optional<absl::btree_set<Affinity>> affinities_;
  mutable absl::flat_hash_map<Labels, int64_t> counts_;  // of what was asked for
};

}  // namespace muster::capacity
