#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "storage/postgres/held_by_caller.h"
#include "storage/postgres/history.h"
#include "storage/postgres/state_cell.h"
#include "storage/postgres/store.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// The snapshots that watches begin with. Watches that begin at one revision with the same rows
// (WatchList) share one list; rows are encoded one by one as a watcher takes them. A list counts
// for each caller (WatchOptions::turn) that holds it. `memory` and `store` must outlive this and
// what it returned. Not thread-safe, but for refused().
template <class State>
class WatchSnapshots {
 public:
  // `most_rows`, `few_rows`: see LaneOptions.
  WatchSnapshots(const StateCell<State>& memory, const Store<State>& store, size_t most_rows,
                 size_t few_rows)
      : memory_(memory), store_(store), most_rows_(most_rows), few_rows_(few_rows) {}

  // The rows that `watcher` wants, as they are now, then the end of the snapshot; for
  // Watcher::StartSnapshot. RESOURCE_EXHAUSTED (TOO_MANY_WATCHES), with a time to wait: its caller
  // holds as many rows as a caller may before it begins with more than a few.
  absl::StatusOr<SnapshotItems> Of(const Watcher& watcher) {
    ASSIGN_OR_RETURN(auto taken, Take(watcher));
    return [&store = store_, snapshot = std::move(taken.snapshot), held = std::move(taken.held),
            next = size_t{0}]() mutable -> std::optional<WatchItem> {
      if (next == snapshot->rows.size()) {
        return WatchItem{.type = WatchItem::Type::kSnapshotEnd,
                         .revision = snapshot->at.revision,
                         .incarnation = snapshot->at.incarnation};
      }
      const Revised<Change> row = WithKey(snapshot->rows[next++]);
      return WatchItem{WatchItem::Type::kSnapshot, row.revision, std::string(row.change.kind()),
                       row.change.key, std::make_shared<const std::string>(store.Encode(row))};
    };
  }

  // How many watches it had no snapshot for.
  int64_t refused() const { return refused_; }

 private:
  static constexpr size_t kMostKept = 1'000;
  static constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

  using Change = typename State::Change;
  // Without its key, which the row can tell: many snapshots are held at a time.
  struct Row {
    decltype(Change::row) row = {};
    int64_t revision = 0;
  };
  static_assert(sizeof(Row) <= 32);  // deploy/sizing.md
  struct Snapshot {
    Position at = {};
    std::vector<Row> rows = {};
    // By caller; used by the one thread that makes snapshots.
    std::map<uint64_t, std::weak_ptr<const void>> held = {};
  };
  struct Taken {
    std::shared_ptr<const Snapshot> snapshot = {};
    std::shared_ptr<const void> held = {};
  };

  static Revised<Change> WithKey(const Row& row) {
    std::string key = std::visit([](const auto& it) { return std::string(it->Key()); }, row.row);
    return {Change{std::move(key), row.row}, row.revision};
  }

  absl::StatusOr<Taken> Take(const Watcher& watcher) {
    const uint64_t turn = watcher.options().turn;
    const std::optional<WatchList> list = watcher.list();
    ReaderLock lock(memory_.served_mutex());
    std::shared_ptr<Snapshot> snapshot;
    if (list.has_value()) {
      // Bounded, as key prefixes are many. A list that is forgotten is only copied once more.
      if (last_.size() == kMostKept) last_.clear();
      snapshot = last_[*list].lock();
      if (snapshot != nullptr && snapshot->at != memory_.held_at()) snapshot = nullptr;
    }
    if (snapshot != nullptr) {
      if (auto held = snapshot->held[turn].lock())
        return Taken{std::move(snapshot), std::move(held)};
    }
    const size_t most = held_->Of(turn) >= most_rows_ ? few_rows_ : kAnyNumber;
    if (snapshot == nullptr) {
      snapshot = Copy(watcher, most);
      if (snapshot != nullptr && list.has_value()) last_[*list] = snapshot;
    }
    if (snapshot == nullptr || snapshot->rows.size() > most) {
      ++refused_;
      return TooMuchUntaken();
    }
    std::shared_ptr<const void> held = HeldByCaller::Hold(held_, turn, snapshot->rows.size());
    snapshot->held[turn] = held;
    return Taken{std::move(snapshot), std::move(held)};
  }

  static absl::Status TooMuchUntaken() {
    return error::Make(absl::StatusCode::kResourceExhausted,
                       "The caller's watches have not taken the snapshots that they began with, "
                       "which have as many rows as a caller may have waiting.",
                       {.reason = "TOO_MANY_WATCHES", .retry_after = absl::Seconds(1)});
  }

  // Null: there are more rows than `most`.
  std::shared_ptr<Snapshot> Copy(const Watcher& watcher, size_t most) const
      ABSL_SHARED_LOCKS_REQUIRED(memory_.served_mutex()) {
    auto copy = std::make_shared<Snapshot>();
    copy->at = memory_.held_at();
    const auto wanted = [&](absl::string_view kind) { return watcher.MatchesKind(kind); };
    const auto add = [&](Revised<Change> row) {
      if (watcher.Sees(row.change.key, row.revision))
        copy->rows.push_back({std::move(row.change.row), row.revision});
      return copy->rows.size() <= most;
    };
    std::string below = watcher.options().key_prefix;
    if (!below.empty() && below.back() != '/') {
      // Between a cluster and what is in it stand those whose names are longer: `c`, `c-2/...`,
      // `c/...`.
      if (auto own = memory_.held().FindKey(wanted, below)) add(*std::move(own));
      below.push_back('/');
    }
    memory_.held().ForEachUnder(wanted, below, add);
    if (copy->rows.size() > most) return nullptr;
    copy->rows.shrink_to_fit();
    return copy;
  }

  const StateCell<State>& memory_;
  const Store<State>& store_;
  const size_t most_rows_;
  const size_t few_rows_;
  std::atomic<int64_t> refused_ = 0;
  const std::shared_ptr<HeldByCaller> held_ = std::make_shared<HeldByCaller>();
  std::map<WatchList, std::weak_ptr<Snapshot>> last_;
};

}  // namespace muster::storage
