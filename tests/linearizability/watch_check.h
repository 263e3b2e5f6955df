#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::linearizability {

// A change as the journal has it.
struct JournalChange {
  int64_t revision = 0;
  std::string kind = {};
  std::string key = {};
  std::optional<std::string> bytes = {};  // not set: the resource is gone
};

// What a watch is about.
struct WatchFilter {
  std::set<std::string> kinds = {};
  std::string prefix = {};  // of keys; empty: all

  bool Matches(const JournalChange& change) const {
    return kinds.contains(change.kind) && absl::StartsWith(change.key, prefix);
  }
};

// One message of a stream. Those of a bundle count one by one.
struct WatchMessage {
  enum class Type { kSnapshot, kSnapshotEnd, kChanged, kDeleted, kProgress };
  Type type = Type::kProgress;
  int64_t revision = 0;
  std::string key = {};
  std::optional<std::string> bytes = {};
};

// One stream, from its request to its end.
struct WatchSession {
  std::optional<int64_t> after = {};  // not set: a snapshot was asked for
  std::vector<WatchMessage> messages = {};
  // CANCELLED and DEADLINE_EXCEEDED: the client left.
  absl::StatusCode end = absl::StatusCode::kCancelled;
};

// What one watcher saw, in its order.
struct Watched {
  std::string name = {};  // for people
  WatchFilter filter = {};
  std::vector<WatchSession> sessions = {};
};

// Holds what a watcher saw against the journal, by the contract of muster.type.v1.WatchStart:
//  * a snapshot is exactly what the journal makes of all resources at its revision;
//  * what follows it, or the revision that was resumed from, is every matching change in order,
//    none left out, none twice, with the journal's bytes;
//  * no progress mark is ahead of a change that was not sent;
//  * a stream ends by one of the documented errors, OUT_OF_RANGE only where a journal is compacted;
//  * in the end the watcher has seen all up to the history's end, and what it kept of snapshots and
//    changes is the last state.
class WatchCheck {
 public:
  // `journal`: all of it, from revision 1 to the last. `end`: the revision that every watcher must
  // have reached. `compacted`: whether the database has dropped some of it meanwhile.
  WatchCheck(const std::vector<JournalChange>& journal, int64_t end, bool compacted)
      : journal_(journal), end_(end), compacted_(compacted) {}

  // What is wrong, a sentence each; at most kMaxViolations.
  std::vector<std::string> Run(const Watched& watched) {
    watched_ = &watched;
    violations_.clear();
    matching_.clear();
    kept_.clear();
    kept_at_ = 0;
    for (const JournalChange& change : journal_) {
      if (watched.filter.Matches(change)) matching_.push_back(&change);
    }
    for (session_ = 0; session_ < watched.sessions.size(); ++session_)
      CheckSession(watched.sessions[session_]);
    session_ = watched.sessions.size();
    if (kept_at_ < end_)
      Violate(absl::StrCat("it came to revision ", kept_at_, ", the journal to ", end_));
    if (kept_ != StateAt(kept_at_)) Violate("what it kept is not the last state");
    return violations_;
  }

 private:
  static constexpr size_t kMaxViolations = 10;
  using Type = WatchMessage::Type;
  using Kept = std::map<std::string, std::string>;  // key to bytes

  void Violate(const std::string& what) {
    if (violations_.size() >= kMaxViolations) return;
    violations_.push_back(absl::StrCat(watched_->name, ", stream ", session_, ": ", what));
  }

  // The first matching change after `revision`; null: none.
  const JournalChange* NextAfter(int64_t revision) const {
    const auto it = std::upper_bound(
        matching_.begin(), matching_.end(), revision,
        [](int64_t wanted, const JournalChange* change) { return wanted < change->revision; });
    return it == matching_.end() ? nullptr : *it;
  }

  // Every matching resource at `revision`, by its last change.
  std::map<std::string, const JournalChange*> ResourcesAt(int64_t revision) const {
    std::map<std::string, const JournalChange*> resources;
    for (const JournalChange* change : matching_) {
      if (change->revision > revision) break;
      if (change->bytes.has_value()) {
        resources[change->key] = change;
      } else {
        resources.erase(change->key);
      }
    }
    return resources;
  }
  Kept StateAt(int64_t revision) const {
    Kept state;
    for (const auto& [key, change] : ResourcesAt(revision)) state[key] = *change->bytes;
    return state;
  }

  void CheckSession(const WatchSession& session) {
    position_ = session.after;
    snapshot_.clear();
    if (session.after.value_or(0) > kept_at_)
      Violate(absl::StrCat("it resumed from ", *session.after, " and had only ", kept_at_));
    for (const WatchMessage& message : session.messages) {
      switch (message.type) {
        case Type::kSnapshot:
          TakeSnapshotItem(message);
          break;
        case Type::kSnapshotEnd:
          TakeSnapshotEnd(message.revision);
          break;
        case Type::kChanged:
        case Type::kDeleted:
          TakeChange(message);
          break;
        case Type::kProgress:
          TakeProgress(message.revision);
          break;
      }
    }
    CheckEnd(session.end);
  }

  void TakeSnapshotItem(const WatchMessage& message) {
    if (position_.has_value())
      return Violate(absl::StrCat("a snapshot's ", message.key, " where none was asked for"));
    if (!snapshot_.emplace(message.key, &message).second)
      Violate(absl::StrCat("the snapshot has ", message.key, " twice"));
  }

  void TakeSnapshotEnd(int64_t revision) {
    if (position_.has_value()) return Violate("a snapshot's end without a snapshot");
    position_ = revision;
    if (revision > last_revision())
      return Violate(absl::StrCat("a snapshot of revision ", revision, ", which never was"));
    const auto resources = ResourcesAt(revision);
    for (const auto& [key, item] : snapshot_) {
      const auto it = resources.find(key);
      if (it == resources.end()) {
        Violate(absl::StrCat("the snapshot of ", revision, " has ", key, ", which was not there"));
      } else if (it->second->revision != item->revision || it->second->bytes != item->bytes) {
        Violate(absl::StrCat("the snapshot of ", revision, " has ", key, " as of ", item->revision,
                             ", not as of ", it->second->revision, " or not its bytes"));
      }
    }
    for (const auto& [key, change] : resources) {
      if (!snapshot_.contains(key))
        Violate(absl::StrCat("the snapshot of ", revision, " lacks ", key));
    }
    kept_.clear();
    for (const auto& [key, item] : snapshot_) kept_[key] = item->bytes.value_or("");
    kept_at_ = revision;
  }

  void TakeChange(const WatchMessage& message) {
    if (!position_.has_value())
      return Violate(absl::StrCat("change ", message.revision, " came before the snapshot's end"));
    if (message.revision <= *position_)
      return Violate(absl::StrCat("change ", message.revision, " came after ", *position_));
    const JournalChange* expected = NextAfter(*position_);
    if (expected != nullptr && expected->revision < message.revision)
      Violate(absl::StrCat("after ", *position_, " came change ", message.revision, ": change ",
                           expected->revision, " of ", expected->key, " was left out"));
    position_ = message.revision;
    expected = NextAfter(message.revision - 1);
    if (expected == nullptr || expected->revision != message.revision)
      return Violate(absl::StrCat("change ", message.revision, " is none that it is about"));
    if (expected->key != message.key || expected->bytes != message.bytes ||
        (message.type == Type::kDeleted) == message.bytes.has_value())
      Violate(absl::StrCat("change ", message.revision, " of ", message.key,
                           " is not what the journal has of ", expected->key));
    Keep(message);
  }

  // What it has already does not turn back when a stream begins before it.
  void Keep(const WatchMessage& message) {
    if (message.revision <= kept_at_) return;
    kept_at_ = message.revision;
    if (message.bytes.has_value()) {
      kept_[message.key] = *message.bytes;
    } else {
      kept_.erase(message.key);
    }
  }

  void TakeProgress(int64_t revision) {
    if (!position_.has_value())
      return Violate(absl::StrCat("progress ", revision, " came before the snapshot's end"));
    if (revision < *position_)
      return Violate(absl::StrCat("progress ", revision, " came after ", *position_));
    if (revision > last_revision())
      Violate(absl::StrCat("progress ", revision, " is ahead of the journal"));
    const JournalChange* expected = NextAfter(*position_);
    if (expected != nullptr && expected->revision <= revision)
      Violate(absl::StrCat("progress ", revision, " came after ", *position_, ": change ",
                           expected->revision, " of ", expected->key, " was left out"));
    position_ = revision;
    kept_at_ = std::max(kept_at_, revision);
  }

  void CheckEnd(absl::StatusCode end) {
    const bool documented =
        end == absl::StatusCode::kCancelled || end == absl::StatusCode::kDeadlineExceeded ||
        end == absl::StatusCode::kUnavailable || end == absl::StatusCode::kResourceExhausted ||
        (end == absl::StatusCode::kOutOfRange && compacted_);
    if (!documented) Violate(absl::StrCat("it ended with ", absl::StatusCodeToString(end)));
  }

  int64_t last_revision() const { return journal_.empty() ? 0 : journal_.back().revision; }

  const std::vector<JournalChange>& journal_;
  const int64_t end_;
  const bool compacted_;

  const Watched* watched_ = nullptr;
  std::vector<const JournalChange*> matching_;
  size_t session_ = 0;
  std::optional<int64_t> position_;                      // that the stream has reached
  std::map<std::string, const WatchMessage*> snapshot_;  // of the stream
  Kept kept_;                                            // of all streams
  int64_t kept_at_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace muster::linearizability
