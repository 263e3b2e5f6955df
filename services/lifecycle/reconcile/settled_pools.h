#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/quiet_nodes.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// Pools for which nothing was found to be done, and the Nodes that were only counted for that
// (Plan): while such a Node's work comes and goes, the pool need not be looked at, which costs a
// walk over all its Nodes and a request to each other service. What else changes makes it due as
// ever. Takes two words for each Node. Thread-safe.
class SettledPools {
 public:
  // The pools are about to be looked at: what changes from now on makes them due, as that may come
  // too late for the look.
  void Forget(const std::vector<std::string>& pools) {
    std::vector<Rows> gone;  // freed without the lock
    MutexLock lock(mutex_);
    for (const std::string& pool : pools) {
      const auto it = rows_.find(pool);
      if (it == rows_.end()) continue;
      gone.push_back(std::move(it->second));
      rows_.erase(it);
    }
  }
  // The plan of the pool was empty. `rows`: its Nodes as they were looked at; `only_counted`: those
  // that Plan says so of. Both by name.
  void Settle(absl::string_view pool, std::vector<std::shared_ptr<const Node>> rows,
              const std::vector<const Node*>& only_counted) {
    if (only_counted.empty()) return;
    if (only_counted.size() < rows.size()) rows = Only(only_counted, std::move(rows));
    MutexLock lock(mutex_);
    std::swap(rows_[pool], rows);
  }
  // Takes in a Node's row as it is now. True: its pool would be found as settled as before.
  bool Absorbs(std::shared_ptr<const Node> row) {
    MutexLock lock(mutex_);
    const auto pool = rows_.find(PoolNameOf(row->name));
    if (pool == rows_.end()) return false;
    const auto known = std::lower_bound(
        pool->second.begin(), pool->second.end(), row->name,
        [](const auto& before, const std::string& name) { return before->name < name; });
    if (known == pool->second.end() || (*known)->name != row->name) return false;
    if (!CountsTheSame(**known, *row)) return false;
    std::swap(*known, row);
    return true;
  }
  void Clear() {
    absl::flat_hash_map<std::string, Rows> gone;
    MutexLock lock(mutex_);
    std::swap(rows_, gone);
  }

 private:
  using Rows = std::vector<std::shared_ptr<const Node>>;  // by name

  static Rows Only(const std::vector<const Node*>& wanted, Rows rows) {
    Rows only;
    only.reserve(wanted.size());
    auto next = wanted.begin();
    for (std::shared_ptr<const Node>& row : rows) {
      if (next == wanted.end()) break;
      if (*next != row.get()) continue;
      only.push_back(std::move(row));
      ++next;
    }
    return only;
  }

  Mutex mutex_;
  absl::flat_hash_map<std::string, Rows> rows_ MUSTER_GUARDED_BY(mutex_);  // by pool
};

}  // namespace muster::lifecycle
