#include "storage/postgres/watch.h"

#include <algorithm>
#include <utility>

#include "services/common/error.h"
#include "services/common/internal_kind.h"
#include "services/common/resource_name.h"

namespace muster::storage {
namespace {

WatchItem ItemOf(const JournalRow& change) {
  const auto type = change.bytes == nullptr ? WatchItem::Type::kDeleted : WatchItem::Type::kChanged;
  return {type, change.revision, change.kind, change.key, change.bytes};
}

}  // namespace

std::optional<WatchList> Watcher::list() const {
  if (options_.sees && options_.sees_text.empty()) return std::nullopt;
  WatchList list{options_.kinds, options_.key_prefix, options_.sees_text};
  std::sort(list.kinds.begin(), list.kinds.end());
  return list;
}

std::optional<WatchItem> Watcher::Next() {
  std::optional<WatchItem> item = Take();
  for (; item.has_value() && !Keeps(*item); item = Take()) Skip(*item);
  return item;
}

void Watcher::Skip(const WatchItem& item) {
  if (item.type != WatchItem::Type::kChanged) return;
  MutexLock lock(mutex_);
  taken_revision_ = std::min(taken_revision_, item.revision - 1);
}

std::optional<WatchItem> Watcher::Take() {
  SnapshotItems snapshot;
  {
    MutexLock lock(mutex_);
    came_ = true;
    if (cancelled_) return std::nullopt;
    if (!snapshot_) return TakeQueued();
    snapshot = std::move(snapshot_);
    snapshot_ = nullptr;
  }
  // Encoding happens outside of the lock, so that a large snapshot does not hold up the lane. Only
  // the reader comes here.
  std::optional<WatchItem> item = snapshot();
  if (item.has_value()) {
    MutexLock lock(mutex_);
    if (item->type == WatchItem::Type::kSnapshotEnd) {
      in_snapshot_ = false;
      taken_revision_ = item->revision;
    } else if (in_snapshot_) {
      snapshot_ = std::move(snapshot);
    }
    return item;
  }
  return Take();
}

std::optional<WatchItem> Watcher::TakeQueued() {
  std::optional<WatchItem> item = std::exchange(progress_, std::nullopt);
  if (!item.has_value()) {
    if (queue_.empty()) return std::nullopt;
    item = ItemOf(*queue_.front());
    queue_.pop_front();
    TellRoom();
  }
  taken_revision_ = std::max(taken_revision_, item->revision);
  return item;
}

void Watcher::TellRoom() {
  if (room_ && (cancelled_ || queue_.size() <= room_most_)) std::exchange(room_, nullptr)();
}

size_t Watcher::waiting() const {
  MutexLock lock(mutex_);
  return queue_.size();
}

void Watcher::NotifyWhenRoom(size_t most, std::function<void()> room) {
  MutexLock lock(mutex_);
  room_ = std::move(room);
  room_most_ = most;
  TellRoom();
}

std::optional<absl::Status> Watcher::Ended() {
  MutexLock lock(mutex_);
  if (!HasEnd() || !HasNothing()) return std::nullopt;
  if (!too_slow_) return end_;
  return error::WatchTooSlow(std::max(taken_revision_, options_.after_revision.value_or(0)));
}

void Watcher::EndTooSlow() {
  too_slow_ = true;
  queue_ = {};
  progress_.reset();
}

void Watcher::NotifyWhenReady(absl::AnyInvocable<void()> ready) {
  {
    MutexLock lock(mutex_);
    if (cancelled_) return;
    if (HasNothing() && !HasEnd()) {
      ready_ = std::move(ready);
      return;
    }
  }
  ready();
}

void Watcher::Cancel() {
  absl::AnyInvocable<void()> dropped;
  MutexLock lock(mutex_);
  cancelled_ = true;
  queue_.clear();
  progress_.reset();
  snapshot_ = nullptr;
  in_snapshot_ = false;
  dropped = std::move(ready_);
  ready_ = nullptr;
  TellRoom();
}

bool Watcher::cancelled() const {
  MutexLock lock(mutex_);
  return cancelled_;
}

bool Watcher::ended() const {
  MutexLock lock(mutex_);
  return HasEnd();
}

bool Watcher::MatchesKind(absl::string_view kind) const {
  if (IsInternalKind(kind)) return false;
  const std::vector<std::string>& kinds = options_.kinds;
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool Watcher::Matches(const JournalRow& change) const {
  return MatchesKind(change.kind) && IsUnder(change.key, options_.key_prefix) &&
         Sees(change.key, change.revision);
}

void Watcher::StartSnapshot(absl::StatusOr<SnapshotItems> snapshot) {
  MutexLock lock(mutex_);
  if (cancelled_) return;
  if (!snapshot.ok()) {
    end_ = std::move(snapshot).status();
    return;
  }
  snapshot_ = *std::move(snapshot);
  in_snapshot_ = true;
}

SnapshotItems Watcher::EndIfLate(absl::Duration now, absl::Duration late) {
  MutexLock lock(mutex_);
  if (std::exchange(came_, false) || !MuchWaits()) {
    came_at_ = now;
    return nullptr;
  }
  if (now - came_at_ < late) return nullptr;
  EndTooSlow();
  if (!in_snapshot_) return nullptr;
  too_slow_ = false;
  end_ = error::SnapshotTooSlow();
  in_snapshot_ = false;
  return std::exchange(snapshot_, nullptr);
}

bool Watcher::EndAsTooSlow() {
  MutexLock lock(mutex_);
  if (cancelled_ || HasEnd()) return false;
  EndTooSlow();
  return ready_ != nullptr;
}

bool Watcher::gone() const {
  MutexLock lock(mutex_);
  return cancelled_ || (HasEnd() && !MuchWaits());
}

bool Watcher::Offer(const std::shared_ptr<const JournalRow>& change) {
  const int64_t revision = change->revision;
  MutexLock lock(mutex_);
  if (cancelled_ || HasEnd() || revision <= offered_revision_) return false;
  if (!Matches(*change)) {
    offered_revision_ = revision;
    return false;
  }
  if (queue_.size() >= limit_) {
    EndTooSlow();
    return ready_ != nullptr;
  }
  queue_.push_back(change);
  offered_revision_ = revision;
  return ready_ != nullptr;
}

void Watcher::SkipThrough(int64_t revision) {
  MutexLock lock(mutex_);
  offered_revision_ = std::max(offered_revision_, revision);
  // Who resumes is there, and is told so once, though nothing may happen for long. Memory may be
  // behind what he heard of another replica: of less he is not told.
  taken_revision_ = std::max(taken_revision_, revision - 1);
}

bool Watcher::Progress(int64_t revision, const std::string& incarnation) {
  MutexLock lock(mutex_);
  if (cancelled_ || HasEnd() || !HasNothing() || taken_revision_ >= revision) return false;
  progress_ = {
      .type = WatchItem::Type::kProgress, .revision = revision, .incarnation = incarnation};
  return ready_ != nullptr;
}

void Watcher::End(absl::Status status) {
  {
    MutexLock lock(mutex_);
    if (cancelled_ || HasEnd()) return;
    end_ = std::move(status);
  }
  Wake();
}

void Watcher::Wake() {
  absl::AnyInvocable<void()> ready;
  {
    MutexLock lock(mutex_);
    ready = std::move(ready_);
    ready_ = nullptr;
  }
  if (ready) ready();
}

}  // namespace muster::storage
