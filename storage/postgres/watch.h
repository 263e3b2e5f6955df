#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "storage/postgres/journal.h"

namespace muster::storage {

// One message of a watch. See muster.type.v1.WatchStart for the contract of the stream.
struct WatchItem {
  enum class Type { kSnapshot, kSnapshotEnd, kChanged, kDeleted, kProgress };
  Type type = Type::kProgress;
  int64_t revision = 0;
  std::string kind = {};
  std::string key = {};
  std::shared_ptr<const std::string> bytes =
      {};                        // the resource's API message; null unless kSnapshot or kChanged
  std::string incarnation = {};  // of the history; only kSnapshotEnd and kProgress
};

// What a watch begins with: gives its items one by one, the last of them kSnapshotEnd.
using SnapshotItems = std::function<std::optional<WatchItem>()>;

// Changes that may wait for a reader however long it takes nothing.
inline constexpr size_t kFewChanges = 1'000;

// What a watcher wants.
struct WatchOptions {
  std::optional<int64_t> after_revision = {};  // not set: a snapshot first
  std::string incarnation = {};                // history of `after_revision`; empty: not known
  std::vector<std::string> kinds = {};         // empty: all
  std::string key_prefix = {};                 // as IsUnder has it; empty: all
  // Whether the watcher may know of the resource as it became at `revision`; null: of all. Called
  // under locks of the lane, so it must not call the lane.
  std::function<bool(absl::string_view key, int64_t revision)> sees = {};
  // Watches with the same text see the same. If `sees` is set and this is empty, no other watch is
  // known to see the same.
  std::string sees_text = {};
  uint64_t turn = 0;  // the caller: watches of different callers begin in turn (access::TurnOf)
  // Whether an item that has bytes is given to the reader; null: all are. Called on the reader's
  // thread. For changes that are left out the reader gets progress.
  std::function<bool(const WatchItem& item)> keeps = {};
};

// Says which rows a watch begins with: watches with equal lists begin, at one revision, with the
// same rows.
struct WatchList {
  std::vector<std::string> kinds = {};  // in order
  std::string key_prefix = {};
  std::string sees_text = {};
  auto operator<=>(const WatchList&) const = default;
};

// The receiving end of a watch: a bounded queue that the lane fills. Thread-safe.
class Watcher {
 public:
  // `limit`: most changes that may wait; one more ends the watch with WATCH_TOO_SLOW. Those that
  // waited are dropped, as the client resumes after the last that it took; a snapshot under way is
  // still given.
  Watcher(WatchOptions options, size_t limit) : options_(std::move(options)), limit_(limit) {}

  const WatchOptions& options() const { return options_; }
  // What it begins with; nullopt: its rows cannot be shared with other watches.
  std::optional<WatchList> list() const;

  // The next item, or nullopt when none waits now.
  std::optional<WatchItem> Next();
  // Set once the watch has ended and all that waited before was taken. OK never ends a watch.
  std::optional<absl::Status> Ended();
  // Calls `ready` once, at once or later from another thread, when Next() or Ended() has something.
  // At most one at a time.
  void NotifyWhenReady(absl::AnyInvocable<void()> ready);
  // The reader is gone: nothing is queued any more, `ready` is not called any more.
  void Cancel();

  // --- the lane's side ---
  bool cancelled() const;
  bool ended() const;
  bool MatchesKind(absl::string_view kind) const;
  bool Matches(const JournalRow& change) const;
  bool Sees(absl::string_view key, int64_t revision) const {
    return !options_.sees || options_.sees(key, revision);
  }
  // The snapshot, produced one by one as the reader takes it, goes before all queued changes; an
  // error ends the watch. Wake is to be called thereafter.
  void StartSnapshot(absl::StatusOr<SnapshotItems> snapshot);
  // To be called again and again, with the time of a steady clock. Ends the watch, with
  // WATCH_TOO_SLOW, if its reader took nothing for `late` while a snapshot or more than kFewChanges
  // changes waited. Returns what the caller is to destroy, best without a lock.
  SnapshotItems EndIfLate(absl::Duration now, absl::Duration late);
  // Ends the watch with WATCH_TOO_SLOW. True: as for Offer.
  bool EndAsTooSlow();
  // Nothing comes to it any more, and EndIfLate has nothing to do.
  bool gone() const;
  // A committed change: queued if it matches and is newer than what the watcher has. Changes come
  // in order. True: the reader waits, and is to be woken.
  bool Offer(const std::shared_ptr<const JournalRow>& change);
  // How many changes wait.
  size_t waiting() const;
  // Calls `room` once, at once or later from another thread, when no more than `most` changes wait
  // or the reader is gone. The watcher is locked meanwhile: `room` must not call it. Another
  // `room`, or null, replaces this one, which is then not called any more.
  void NotifyWhenRoom(size_t most, std::function<void()> room);
  // Changes up to `revision` are not to be sent, nor is progress to a lower revision.
  void SkipThrough(int64_t revision);
  // Everything up to `revision` was offered: the reader is told, if nothing else waits. True: as
  // for Offer.
  bool Progress(int64_t revision, const std::string& incarnation);
  void End(absl::Status status);
  // Calls what NotifyWhenReady left, if anything.
  void Wake() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool HasNothing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !snapshot_ && !progress_.has_value() && queue_.empty();
  }
  bool HasEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return too_slow_ || end_.has_value();
  }
  bool MuchWaits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return in_snapshot_ || queue_.size() > kFewChanges;
  }
  void EndTooSlow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next item, whether or not `keeps` lets it through.
  std::optional<WatchItem> Take();
  // `item` is left out: notes that the reader does not have its revision, so that progress tells
  // it.
  void Skip(const WatchItem& item);
  std::optional<WatchItem> TakeQueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Keeps(const WatchItem& item) const {
    return item.bytes == nullptr || !options_.keeps || options_.keeps(item);
  }
  void TellRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const WatchOptions options_;
  const size_t limit_;
  mutable Mutex mutex_;
  SnapshotItems snapshot_ MUSTER_GUARDED_BY(mutex_);  // null, too, while the reader takes an item
  bool in_snapshot_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<WatchItem> progress_ MUSTER_GUARDED_BY(mutex_);  // goes before the queue
  // Many watchers have the same.
  std::deque<std::shared_ptr<const JournalRow>> queue_ MUSTER_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ MUSTER_GUARDED_BY(mutex_);
  // It ends with WATCH_TOO_SLOW and the revision that was taken last.
  bool too_slow_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::AnyInvocable<void()> ready_ MUSTER_GUARDED_BY(mutex_);
  std::function<void()> room_ MUSTER_GUARDED_BY(mutex_);
  size_t room_most_ MUSTER_GUARDED_BY(mutex_) = 0;
  int64_t offered_revision_ MUSTER_GUARDED_BY(mutex_) = 0;  // newest change seen or skipped
  int64_t taken_revision_ MUSTER_GUARDED_BY(mutex_) = 0;    // newest that the reader has
  bool cancelled_ MUSTER_GUARDED_BY(mutex_) = false;
  bool came_ MUSTER_GUARDED_BY(mutex_) = true;  // the reader, since the last EndIfLate
  absl::Duration came_at_ MUSTER_GUARDED_BY(mutex_) = {};
};

}  // namespace muster::storage
