#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "services/capacity/core/rank_tree.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// Machines held by the request that they were granted for.
using Ages = absl::btree_map<absl::Time, int64_t>;

// Whether all of the part is granted at once or nothing of it: that of a gang, unless the claim
// holds machines of the same request. Then it lost some, and each is replaced alone.
bool IsAtOnce(const ClaimRow& claim, const ClaimPart& part, const Ages& ages);

// A place in the queue: one outstanding part of one claim.
struct QueueKey {
  ComputeClass compute_class = ComputeClass::kDefault;
  int32_t priority = 0;
  absl::Time request_time = absl::UnixEpoch();
  std::string pool_uid = {};

  bool operator==(const QueueKey&) const = default;
  // semantics.md 5: default before spot, higher priority first, older first, then uid.
  bool operator<(const QueueKey& other) const {
    return std::tie(compute_class, other.priority, request_time, pool_uid) <
           std::tie(other.compute_class, priority, other.request_time, other.pool_uid);
  }
};

// What stands at one place, or at many.
struct QueueSum {
  int64_t entries = 0;
  int64_t nodes = 0;

  QueueSum& operator+=(const QueueSum& other) {
    entries += other.entries;
    nodes += other.nodes;
    return *this;
  }
  bool operator==(const QueueSum&) const = default;
};

// Parts that take the same machines in the same way wait in one line.
struct Selector {
  Affinity affinity = {};
  bool gang = false;  // at once
  auto operator<=>(const Selector&) const = default;
};

// A line in the order of the queue.
using Line = RankTree<QueueKey, QueueSum>;

// Where a claim stands: see QueuePlace in the proto.
struct QueuePlace {
  int64_t place = 0;
  int64_t nodes_ahead = 0;
  bool operator==(const QueuePlace&) const = default;
};

// Who waits for the machines of a depot: one line a selector. The order is that of QueueKey over
// all lines.
class Queue {
 public:
  // `ages`: of the machines that the claim holds, the same for both.
  void Add(const ClaimRow& claim, const Ages& ages);
  void Remove(const ClaimRow& claim, const Ages& ages);

  // No line is empty.
  const std::map<Selector, Line>& lines() const { return lines_; }
  // Null: nobody waits in it.
  const Line* FindLine(const Selector& selector) const;
  bool empty() const { return lines_.empty(); }

  // Over all lines. Cost O(lines).
  QueueSum Total() const;
  // All that stands before the key, which need not be there. Costs O(lines × log).
  QueueSum AheadOf(const QueueKey& key) const;
  // Of a claim that waits. Costs as AheadOf.
  QueuePlace PlaceOf(const ClaimRow& claim) const;

  bool operator==(const Queue&) const = default;

 private:
  std::map<Selector, Line> lines_;
};

}  // namespace muster::capacity
