#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "services/kubernetes/api/json.h"

namespace muster::kubernetes {

// The objects of a collection as last seen, by key. `Object` has a `resource_version`: what comes
// late (an object older than the one known, or than its deletion) changes nothing. Not thread-safe.
template <class Object, class Key = std::string>
class LastSeen {
 public:
  using Map = absl::btree_map<Key, std::shared_ptr<const Object>>;
  // Called with every change; null: there was no object, or there is none any more. It must not
  // change the objects.
  using Changed = std::function<void(const Object* before, const Object* after)>;

  explicit LastSeen(Changed changed) : changed_(std::move(changed)) {}

  // What BeginList, BeginAnew, PutListed and EndList mean: see Sink in reflector.h.
  void BeginList() {
    unnamed_.clear();
    listing_ = true;
    anew_ = false;
    for (const auto& [key, object] : objects_) unnamed_.insert(key);
  }
  void BeginAnew() {
    anew_ = true;
    ForgetTombstones();
    list_version_.clear();
  }
  void PutListed(const Key& key, Object object) {
    const bool first = unnamed_.erase(key) > 0;
    Take(key, std::move(object), anew_ && first);
  }
  void EndList(const std::string& version) {
    for (const Key& key : std::exchange(unnamed_, {})) {
      const auto found = objects_.find(key);
      const bool stays =
          found != objects_.end() && !anew_ && IsOlder(version, found->second->resource_version);
      if (!stays) Erase(key);
    }
    ForgetTombstones();
    list_version_ = version;
    listing_ = false;
    anew_ = false;
  }

  // Takes an object from a watch or an answer, which may be older than a list and come during it or
  // after it.
  void Put(const Key& key, Object object) {
    if (!objects_.contains(key)) {
      // It is not later than the last list, which did not name it: it is gone.
      if (!IsLater(object.resource_version, list_version_)) return;
      if (listing_) unnamed_.insert(key);
    }
    Take(key, std::move(object), false);
  }
  // `version`: of its deletion.
  void Remove(const Key& key, const std::string& version) {
    const auto found = objects_.find(key);
    if (found != objects_.end() && IsLater(found->second->resource_version, version)) return;
    Bury(key, version);
    Erase(key);
  }
  // Removes the object, whatever its version.
  void Erase(const Key& key) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return;
    const std::shared_ptr<const Object> before = std::move(found->second);
    objects_.erase(found);
    changed_(before.get(), nullptr);
  }

  const Map& objects() const { return objects_; }

  // Deletions that are remembered until the next list, so that what was sent before them and comes
  // after them is known for what it is; of more, those that were told last.
  static constexpr size_t kMostTombstones = 10'000;

 private:
  struct Tombstone {
    std::string version = {};  // of the deletion
    int64_t number = 0;        // in the order in which they were told
  };

  void Bury(const Key& key, const std::string& version) {
    const int64_t number = ++told_;
    const auto [it, first] = tombstones_.try_emplace(key);
    if (!first) by_age_.erase(it->second.number);
    it->second = {version, number};
    by_age_.emplace(number, key);
    if (by_age_.size() <= kMostTombstones) return;
    tombstones_.erase(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
  }
  void ForgetTombstones() {
    tombstones_.clear();
    by_age_.clear();
  }

  // `as_it_is`: takes the object whatever the version of the one that is known.
  void Take(const Key& key, Object object, bool as_it_is) {
    const auto gone = tombstones_.find(key);
    if (gone != tombstones_.end() && !IsLater(object.resource_version, gone->second.version))
      return;
    std::shared_ptr<const Object>& slot = objects_[key];
    const bool measures = slot != nullptr && !as_it_is;
    if (measures && !IsLater(object.resource_version, slot->resource_version)) return;
    const std::shared_ptr<const Object> before =
        std::exchange(slot, std::make_shared<const Object>(std::move(object)));
    changed_(before.get(), slot.get());
  }

  const Changed changed_;
  Map objects_;
  bool listing_ = false;
  bool anew_ = false;
  absl::btree_set<Key> unnamed_;  // by the list that is under way
  std::string list_version_;      // of the last one
  absl::btree_map<Key, Tombstone> tombstones_;
  absl::btree_map<int64_t, Key> by_age_;  // keys of `tombstones_`
  int64_t told_ = 0;                      // deletions so far
};

}  // namespace muster::kubernetes
