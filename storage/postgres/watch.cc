#include "storage/postgres/watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "services/common/error.h"
#include "services/common/internal_kind.h"

namespace muster::storage {

std::optional<WatchItem> Watcher::Next() {
  std::function<std::optional<WatchItem>()> snapshot;
  {
    MutexLock lock(mutex_);
    if (cancelled_) return std::nullopt;
    if (!snapshot_) {
      if (queue_.empty()) return std::nullopt;
      WatchItem item = std::move(queue_.front());
      queue_.pop_front();
      taken_revision_ = std::max(taken_revision_, item.revision);
      return item;
    }
    snapshot = std::move(snapshot_);
    snapshot_ = nullptr;
  }
  // Encoding happens outside of the lock, so that a large snapshot does not hold up the lane. Only
  // the reader comes here.
  std::optional<WatchItem> item = snapshot();
  if (item.has_value()) {
    MutexLock lock(mutex_);
    if (item->type == WatchItem::Type::kSnapshotEnd) {
      taken_revision_ = item->revision;
    } else {
      snapshot_ = std::move(snapshot);
    }
    return item;
  }
  return Next();
}

std::optional<absl::Status> Watcher::Ended() {
  MutexLock lock(mutex_);
  if (!end_.has_value() || snapshot_ || !queue_.empty()) return std::nullopt;
  return end_;
}

void Watcher::NotifyWhenReady(absl::AnyInvocable<void()> ready) {
  {
    MutexLock lock(mutex_);
    if (cancelled_) return;
    if (!snapshot_ && queue_.empty() && !end_.has_value()) {
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
  snapshot_ = nullptr;
  dropped = std::move(ready_);
  ready_ = nullptr;
}

bool Watcher::cancelled() const {
  MutexLock lock(mutex_);
  return cancelled_;
}

bool Watcher::ended() const {
  MutexLock lock(mutex_);
  return end_.has_value();
}

bool Watcher::MatchesKind(absl::string_view kind) const {
  if (IsInternalKind(kind)) return false;
  const std::vector<std::string>& kinds = options_.kinds;
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool Watcher::Matches(absl::string_view kind, absl::string_view key) const {
  return MatchesKind(kind) && absl::StartsWith(key, options_.key_prefix);
}

void Watcher::StartSnapshot(std::function<std::optional<WatchItem>()> snapshot) {
  MutexLock lock(mutex_);
  if (!cancelled_) snapshot_ = std::move(snapshot);
}

bool Watcher::Offer(int64_t revision, absl::string_view kind, absl::string_view key,
                    std::shared_ptr<const std::string> bytes) {
  MutexLock lock(mutex_);
  if (cancelled_ || end_.has_value() || revision <= offered_revision_) return false;
  if (!Matches(kind, key)) {
    offered_revision_ = revision;
    return false;
  }
  if (queue_.size() >= limit_) {
    // What waits is still delivered, then the watch ends; the client resumes from the last that it
    // got.
    end_ = error::WatchTooSlow(offered_revision_);
    return ready_ != nullptr;
  }
  const auto type = bytes == nullptr ? WatchItem::Type::kDeleted : WatchItem::Type::kChanged;
  queue_.push_back({type, revision, std::string(kind), std::string(key), std::move(bytes)});
  offered_revision_ = revision;
  return ready_ != nullptr;
}

void Watcher::SkipThrough(int64_t revision) {
  MutexLock lock(mutex_);
  offered_revision_ = std::max(offered_revision_, revision);
}

bool Watcher::Progress(int64_t revision, const std::string& incarnation) {
  MutexLock lock(mutex_);
  if (cancelled_ || end_.has_value() || snapshot_ || !queue_.empty() || taken_revision_ >= revision)
    return false;
  queue_.push_back(
      {.type = WatchItem::Type::kProgress, .revision = revision, .incarnation = incarnation});
  return ready_ != nullptr;
}

void Watcher::End(absl::Status status) {
  {
    MutexLock lock(mutex_);
    if (cancelled_ || end_.has_value()) return;
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
