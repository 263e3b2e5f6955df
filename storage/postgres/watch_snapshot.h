#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/common/mutex.h"
#include "services/common/state.h"
#include "storage/postgres/state_cell.h"
#include "storage/postgres/store.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// The rows of `memory` that `watcher` wants, as they are now, then the end of the snapshot; for
// Watcher::StartSnapshot. They are encoded one by one as the watcher takes them. `store` must
// outlive what is returned.
template <class State>
std::function<std::optional<WatchItem>()> SnapshotOf(const StateCell<State>& memory,
                                                     const Store<State>& store,
                                                     const Watcher& watcher) {
  using Change = typename State::Change;
  auto rows = std::make_shared<std::vector<Revised<Change>>>();
  ReaderLock lock(memory.served_mutex());
  memory.held().ForEach([&](Revised<Change> row) {
    if (watcher.Matches(row.change.kind(), row.change.key)) rows->push_back(std::move(row));
  });
  return [&store, rows, next = size_t{0},
          at = memory.held_at()]() mutable -> std::optional<WatchItem> {
    if (next == rows->size()) {
      return WatchItem{.type = WatchItem::Type::kSnapshotEnd,
                       .revision = at.revision,
                       .incarnation = at.incarnation};
    }
    const Revised<Change>& row = (*rows)[next++];
    return WatchItem{WatchItem::Type::kSnapshot, row.revision, std::string(row.change.kind()),
                     row.change.key, std::make_shared<const std::string>(store.Encode(row))};
  };
}

}  // namespace muster::storage
