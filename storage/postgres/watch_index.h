#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// Finds the watchers of a change without asking all others: by its kind, then by the prefixes of its
// key that some watcher named. Not thread-safe.
class WatchIndex {
 public:
  void Add(std::shared_ptr<Watcher> watcher) {
    const WatchOptions& options = watcher->options();
    if (options.kinds.empty()) Insert("", options.key_prefix, watcher);
    for (const std::string& kind : options.kinds) Insert(kind, options.key_prefix, watcher);
    all_.push_back(std::move(watcher));
  }

  // f(watcher), a const std::shared_ptr<Watcher>&.
  template <class F>
  void ForEachOf(absl::string_view kind, absl::string_view key, F f) const {
    ForEachIn(kind, key, f);
    ForEachIn("", key, f);
  }

  const std::vector<std::shared_ptr<Watcher>>& all() const { return all_; }

  void RemoveIf(const std::function<bool(const Watcher&)>& gone) {
    const auto is_gone = [&](const auto& watcher) { return gone(*watcher); };
    if (std::none_of(all_.begin(), all_.end(), is_gone)) return;
    std::vector<std::shared_ptr<Watcher>> before;
    before.swap(all_);
    by_kind_.clear();
    for (auto& watcher : before) {
      if (!is_gone(watcher)) Add(std::move(watcher));
    }
  }

 private:
  // By the length of the prefix, so that a key takes one look-up for each length.
  using ByPrefix = absl::flat_hash_map<std::string, std::vector<std::shared_ptr<Watcher>>>;
  using ByLength = std::map<size_t, ByPrefix>;

  void Insert(absl::string_view kind, const std::string& prefix,
              const std::shared_ptr<Watcher>& watcher) {
    by_kind_[kind][prefix.size()][prefix].push_back(watcher);
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
