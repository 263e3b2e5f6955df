#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "storage/postgres/history.h"
#include "storage/postgres/state_cell.h"
#include "storage/postgres/store.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// The snapshots that watches begin with. Watches that begin at one revision with the same rows
// (WatchList) share one list; rows are encoded one by one as a watcher takes them. `memory` and
// `store` must outlive this and what it returned. Not thread-safe.
template <class State>
class WatchSnapshots {
 public:
  WatchSnapshots(const StateCell<State>& memory, const Store<State>& store)
      : memory_(memory), store_(store) {}

  // The rows that `watcher` wants, as they are now, then the end of the snapshot; for
  // Watcher::StartSnapshot.
  std::function<std::optional<WatchItem>()> Of(const Watcher& watcher) {
    return [&store = store_, snapshot = Take(watcher),
            next = size_t{0}]() mutable -> std::optional<WatchItem> {
      if (next == snapshot->rows.size()) {
        return WatchItem{.type = WatchItem::Type::kSnapshotEnd,
                         .revision = snapshot->at.revision,
                         .incarnation = snapshot->at.incarnation};
      }
      const Revised<Change>& row = snapshot->rows[next++];
      return WatchItem{WatchItem::Type::kSnapshot, row.revision, std::string(row.change.kind()),
                       row.change.key, std::make_shared<const std::string>(store.Encode(row))};
    };
  }

 private:
  static constexpr size_t kMostKept = 1'000;

  using Change = typename State::Change;
  struct Snapshot {
    Position at = {};
    std::vector<Revised<Change>> rows = {};
  };

  std::shared_ptr<const Snapshot> Take(const Watcher& watcher) {
    const std::optional<WatchList> list = watcher.list();
    ReaderLock lock(memory_.served_mutex());
    if (!list.has_value()) return Copy(watcher);
    // Bounded, as key prefixes are many. A list that is forgotten is only copied once more.
    if (last_.size() == kMostKept) last_.clear();
    std::weak_ptr<const Snapshot>& last = last_[*list];
    std::shared_ptr<const Snapshot> snapshot = last.lock();
    if (snapshot == nullptr || snapshot->at != memory_.held_at()) {
      snapshot = Copy(watcher);
      last = snapshot;
    }
    return snapshot;
  }

  std::shared_ptr<const Snapshot> Copy(const Watcher& watcher) const
      ABSL_SHARED_LOCKS_REQUIRED(memory_.served_mutex()) {
    auto copy = std::make_shared<Snapshot>();
    copy->at = memory_.held_at();
    const auto wanted = [&](absl::string_view kind) { return watcher.MatchesKind(kind); };
    const auto add = [&](Revised<Change> row) {
      if (watcher.Sees(row.change.key, row.revision)) copy->rows.push_back(std::move(row));
    };
    std::string below = watcher.options().key_prefix;
    if (!below.empty() && below.back() != '/') {
      // Between a cluster and what is in it stand those whose names are longer: `c`, `c-2/...`, `c/...`.
      if (auto own = memory_.held().FindKey(wanted, below)) add(*std::move(own));
      below.push_back('/');
    }
    memory_.held().ForEachUnder(wanted, below, add);
    return copy;
  }

  const StateCell<State>& memory_;
  const Store<State>& store_;
  std::map<WatchList, std::weak_ptr<const Snapshot>> last_;
};

}  // namespace muster::storage
