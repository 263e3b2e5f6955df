#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "services/quota/core/rows.h"

namespace muster::quota {

// One pool that holds Nodes under a key, as an answer tells of it.
struct Holder {
  std::string pool_uid = {};
  std::string pool = {};
  int64_t nodes = 0;
  bool operator==(const Holder&) const = default;
};

// Who holds a key: the largest holders, and what the rest adds up to.
struct Holders {
  std::vector<Holder> largest = {};  // most Nodes first, then by pool uid
  int64_t others = 0;                // pools that are not listed
  int64_t other_nodes = 0;           // Nodes that they hold
};

// What is held under one key: the sum, and the holders by size. Points to the rows that were put
// in, which must outlive it. Copyable; a copy points to the same rows. Not thread-safe.
class KeyUse {
 public:
  // Takes `before` out and puts `after` in; null for none. `before` must be in, as it is. O(log n).
  void Replace(const Holding* before, const Holding* after);

  // Nodes held in all.
  int64_t held() const { return held_; }
  bool empty() const { return held_ == 0 && holders_.empty(); }
  // The `most` largest holders but `pool_uid`, which holds `nodes` itself. O(most).
  Holders HoldersBeside(absl::string_view pool_uid, int64_t nodes, size_t most) const;

 private:
  struct Entry {
    int64_t nodes = 0;  // beside the row, so that few comparisons follow the pointer
    mutable const Holding* row = nullptr;
    bool operator<(const Entry& other) const {
      return nodes != other.nodes ? nodes > other.nodes : row->pool_uid < other.row->pool_uid;
    }
  };

  int64_t held_ = 0;
  absl::btree_set<Entry> holders_;  // those with Nodes
};

}  // namespace muster::quota
