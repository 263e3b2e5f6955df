#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// Finds the watchers of a change without asking all others: by its kind, then by the prefixes of
// its key that some watcher named. Not thread-safe.
class WatchIndex {
 public:
  void Add(std::shared_ptr<Watcher> watcher) {
    ForEachPlace(*watcher, [&](const std::string& kind, const std::string& prefix) {
      by_kind_[kind][prefix.size()][prefix].push_back(watcher);
    });
    all_.push_back(std::move(watcher));
  }

  // f(watcher), a const std::shared_ptr<Watcher>&.
  template <class F>
  void ForEachOf(absl::string_view kind, absl::string_view key, F f) const {
    ForEachIn(kind, key, f);
    ForEachIn("", key, f);
  }

  const std::vector<std::shared_ptr<Watcher>>& all() const { return all_; }

  // Asks `gone` of each watcher once. Takes time for them, and for those that want the same kind
  // and prefix as one that is gone: returns how many of the latter it looked at.
  size_t RemoveIf(const std::function<bool(const Watcher&)>& gone) {
    absl::flat_hash_set<const Watcher*> removed;
    absl::flat_hash_set<Place> places;
    for (const auto& watcher : all_) {
      if (!gone(*watcher)) continue;
      removed.insert(watcher.get());
      ForEachPlace(*watcher, [&](const std::string& kind, const std::string& prefix) {
        places.emplace(kind, prefix);
      });
    }
    if (removed.empty()) return 0;
    const auto is_removed = [&](const auto& watcher) { return removed.contains(watcher.get()); };
    size_t looked_at = 0;
    for (const auto& [kind, prefix] : places) looked_at += RemoveAt(kind, prefix, is_removed);
    std::erase_if(all_, is_removed);
    return looked_at;
  }

 private:
  // By the length of the prefix, so that a key takes one look-up for each length.
  using ByPrefix = absl::flat_hash_map<std::string, std::vector<std::shared_ptr<Watcher>>>;
  using ByLength = std::map<size_t, ByPrefix>;

  using Place = std::pair<std::string, std::string>;  // kind and prefix

  // f(kind, prefix) for each place where the index has it.
  template <class F>
  static void ForEachPlace(const Watcher& watcher, F f) {
    const WatchOptions& options = watcher.options();
    if (options.kinds.empty()) f(std::string(), options.key_prefix);
    for (const std::string& kind : options.kinds) f(kind, options.key_prefix);
  }

  // Returns how many watchers were there.
  template <class F>
  size_t RemoveAt(const std::string& kind, const std::string& prefix, const F& is_removed) {
    const auto lengths = by_kind_.find(kind);
    const auto length = lengths->second.find(prefix.size());
    const auto there = length->second.find(prefix);
    const size_t count = there->second.size();
    std::erase_if(there->second, is_removed);
    if (!there->second.empty()) return count;
    length->second.erase(there);
    if (length->second.empty()) lengths->second.erase(length);
    if (lengths->second.empty()) by_kind_.erase(lengths);
    return count;
  }

  template <class F>
  void ForEachIn(absl::string_view kind, absl::string_view key, F& f) const {
    const auto kinds = by_kind_.find(kind);
    if (kinds == by_kind_.end()) return;
    for (const auto& [length, by_prefix] : kinds->second) {
      if (length > key.size()) return;
      const auto found = by_prefix.find(key.substr(0, length));
      if (found == by_prefix.end()) continue;
      for (const auto& watcher : found->second) f(watcher);
    }
  }

  absl::flat_hash_map<std::string, ByLength> by_kind_;  // "": of all kinds
  std::vector<std::shared_ptr<Watcher>> all_;
};

}  // namespace muster::storage
