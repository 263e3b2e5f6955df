#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace muster::fleetsim {

// The objects of one collection as last seen, ordered by machine. `Object` has `key()` (machine,
// rest) and `version`. What comes late changes nothing. Not thread-safe.
template <class Object>
class ClusterView {
 public:
  using Key = std::pair<std::string, std::string>;

  // Between the two every object there is is put.
  void BeginList() {
    unnamed_.clear();
    for (const auto& [key, object] : objects_) unnamed_.insert(key);
  }
  // Forgets those that were not, and returns their machines.
  std::vector<std::string> EndList() {
    std::vector<std::string> machines;
    for (const Key& key : unnamed_) {
      objects_.erase(key);
      machines.push_back(key.first);
    }
    unnamed_.clear();
    return machines;
  }
  // True: it is news.
  bool Put(Object object) {
    const Key key = object.key();
    unnamed_.erase(key);
    const auto buried = buried_.find(key);
    if (buried != buried_.end() && !IsLater(object.version, buried->second)) return false;
    const auto [it, added] = objects_.try_emplace(key);
    if (!added && !IsLater(object.version, it->second.version)) return false;
    it->second = std::move(object);
    return true;
  }
  bool Remove(const Key& key, absl::string_view version) {
    const auto it = objects_.find(key);
    if (it != objects_.end() && IsLater(it->second.version, version)) return false;
    if (buried_.size() >= kMostBuried) buried_.clear();
    buried_[key] = std::string(version);
    if (it == objects_.end()) return false;
    objects_.erase(it);
    return true;
  }
  void Erase(const Key& key) { objects_.erase(key); }

  std::vector<const Object*> OnMachine(absl::string_view machine) const {
    std::vector<const Object*> found;
    const std::string name(machine);
    for (auto it = objects_.lower_bound({name, ""});
         it != objects_.end() && it->first.first == name; ++it) {
      found.push_back(&it->second);
    }
    return found;
  }
  size_t size() const { return objects_.size(); }

 private:
  // Removals that are remembered: the answer to a request may come after the news of the end of
  // what it made.
  static constexpr size_t kMostBuried = 10'000;

  // Versions of one collection are numbers that grow.
  static bool IsLater(absl::string_view version, absl::string_view other) {
    uint64_t a = 0;
    uint64_t b = 0;
    if (!absl::SimpleAtoi(version, &a) || !absl::SimpleAtoi(other, &b)) return true;
    return a > b;
  }

  absl::btree_map<Key, Object> objects_;
  absl::btree_set<Key> unnamed_;
  absl::btree_map<Key, std::string> buried_;  // with the version of their removal
};

}  // namespace muster::fleetsim
