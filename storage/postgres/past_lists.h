#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

namespace muster::storage {

// Which resources a list of the past is of.
struct PastScope {
  std::string prefix = {};      // of their keys
  std::string collection = {};  // as CollectionOf(key) tells it; empty: all

  bool Has(absl::string_view key) const;
  friend bool operator==(const PastScope&, const PastScope&) = default;
};

// The resources of a scope as of one revision: their keys, in order, each with the revision of its
// last change until then. Immutable.
class PastList {
 public:
  // `revisions`: by key.
  explicit PastList(const std::map<std::string, int64_t>& revisions);

  size_t size() const { return entries_.size(); }
  absl::string_view key(size_t i) const;
  int64_t revision(size_t i) const { return entries_[i].revision; }
  // The place of the first key after `key`.
  size_t FindAfter(absl::string_view key) const;
  size_t bytes() const { return keys_.size() + entries_.size() * sizeof(Entry); }

 private:
  struct Entry {
    size_t end = 0;  // of its key in `keys_`
    int64_t revision = 0;
  };

  std::string keys_;  // one behind the other
  std::vector<Entry> entries_;
};

// Most bytes that the kept lists of one lane have together: room for 600,000 resources or so.
inline constexpr size_t kMostPastBytes = 64 << 20;
// Most lists that are kept: every read searches them one by one.
inline constexpr size_t kMostPastLists = 256;
// How long a list is kept that nobody reads.
inline constexpr std::chrono::seconds kPastKeepTime{60};

// The lists of the past that are being read page by page. Making one takes time for all resources
// and all changes since, reading a page of one only for that page. Those that were read last are
// kept. Thread-safe.
class PastLists {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Id {
    std::string incarnation = {};  // of the history that the revision is of
    int64_t revision = 0;
    PastScope scope = {};

    friend bool operator==(const Id&, const Id&) = default;
  };

  explicit PastLists(size_t most_bytes = kMostPastBytes) : most_bytes_(most_bytes) {}

  // The list, and `now` is when it was last read; null: it is not kept.
  std::shared_ptr<const PastList> Find(const Id& id, Time now);
  // Keeps `list`, unless it alone is larger than all may be together.
  void Keep(Id id, std::shared_ptr<const PastList> list, Time now);
  // Drops the lists that nobody has read for kPastKeepTime.
  void DropOld(Time now);
  size_t bytes() const;

 private:
  struct Kept {
    Id id = {};
    std::shared_ptr<const PastList> list = {};
    Time read = {};
  };
  using Lists = std::list<Kept>;

  // About the memory that it takes.
  static size_t BytesOf(const Kept& kept) {
    return sizeof(Kept) + sizeof(PastList) + kept.list->bytes() + kept.id.incarnation.size() +
           kept.id.scope.prefix.size() + kept.id.scope.collection.size();
  }
  Lists::iterator FindKept(const Id& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Lists::iterator kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  mutable Mutex mutex_;
  Lists lists_ MUSTER_GUARDED_BY(mutex_);  // what was read last is in front
  size_t bytes_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::storage
