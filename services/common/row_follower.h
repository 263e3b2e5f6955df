#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/common/mutex.h"
#include "services/common/pieces.h"
#include "services/common/state.h"

namespace muster {

// Tells a lane's committed changes of one kind of row together with the row before, for metrics of
// what happens. It shares its rows with the lane's memory, and knows them by a hash of their keys
// (a collision is not to be expected in the life of a fleet). Thread-safe.
template <class Row>
class RowFollower {
 public:
  // The row of `key` is `row`, unless a row is known already.
  void Learn(absl::string_view key, const std::shared_ptr<const Row>& row) {
    MutexLock lock(mutex_);
    rows_.try_emplace(HashOf(key), row);
  }

  // Takes changes in, in order, and calls f(before, after) for those of rows that it knew; `after`
  // is null when the row is gone. f runs under a lock and must not block.
  template <class Change, class F>
  void Follow(absl::Span<const Revised<Change>> changes, F f) {
    MutexLock lock(mutex_);
    for (const Revised<Change>& change : changes) {
      const auto* after = std::get_if<std::shared_ptr<const Row>>(&change.change.row);
      if (after == nullptr) continue;
      const auto [known, is_new] = rows_.try_emplace(HashOf(change.change.key), *after);
      if (!is_new) {
        f(*known->second, after->get());
        known->second = *after;
      }
      if (*after == nullptr) rows_.erase(known);
    }
  }

  // The row of `key` as it is known; null: it is not.
  std::shared_ptr<const Row> Find(absl::string_view key) const {
    MutexLock lock(mutex_);
    const auto known = rows_.find(HashOf(key));
    return known == rows_.end() ? nullptr : known->second;
  }

  // Forgets all rows: changes were missed.
  void Forget() {
    MutexLock lock(mutex_);
    rows_.clear();
  }

  size_t size() const {
    MutexLock lock(mutex_);
    return rows_.size();
  }

 private:
  static size_t HashOf(absl::string_view key) { return absl::Hash<absl::string_view>()(key); }

  mutable Mutex mutex_;
  absl::flat_hash_map<size_t, std::shared_ptr<const Row>> rows_ MUSTER_GUARDED_BY(mutex_);
};

// Lets `follower` learn all rows of a lane's memory. To be called once the lane tells it of
// changes.
template <class Row, class Lane>
void LearnAll(const Lane& lane, RowFollower<Row>& follower) {
  // Learnt while the piece is read: a change after that is told to it later.
  ForAllInPieces<Row>(lane, [&](const auto& state, absl::string_view key, const Row&) {
    follower.Learn(key, state.template table<Row>().FindVersioned(key)->row);
  });
}

}  // namespace muster
