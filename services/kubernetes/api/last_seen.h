#pragma once

#include <cstddef>
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
  // Told of every change; null: there was none, there is none. It must not change the objects.
  using Changed = std::function<void(const Object* before, const Object* after)>;

  explicit LastSeen(Changed changed) : changed_(std::move(changed)) {}

  // As a Sink's. Between the two every object there is is put.
  void BeginList() {
    unnamed_.clear();
    anew_ = false;
    for (const auto& [key, object] : objects_) unnamed_.insert(key);
  }
  void BeginAnew() {
    anew_ = true;
    tombstones_.clear();
  }
  void EndList() {
    anew_ = false;
    for (const Key& key : std::exchange(unnamed_, {})) Erase(key);
    tombstones_.clear();
  }

  void Put(const Key& key, Object object) {
    const bool first = unnamed_.erase(key) > 0;
    const auto gone = tombstones_.find(key);
    if (gone != tombstones_.end() && !IsLater(object.resource_version, gone->second)) return;
    std::shared_ptr<const Object>& slot = objects_[key];
    const bool measures = slot != nullptr && !(anew_ && first);
    if (measures && !IsLater(object.resource_version, slot->resource_version)) return;
    const std::shared_ptr<const Object> before =
        std::exchange(slot, std::make_shared<const Object>(std::move(object)));
    changed_(before.get(), slot.get());
  }
  // `version`: of its deletion.
  void Remove(const Key& key, const std::string& version) {
    const auto found = objects_.find(key);
    if (found != objects_.end() && IsLater(found->second->resource_version, version)) return;
    if (tombstones_.size() >= kMostTombstones) tombstones_.clear();
    tombstones_[key] = version;
    Erase(key);
  }
  // Whatever its version.
  void Erase(const Key& key) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return;
    const std::shared_ptr<const Object> before = std::move(found->second);
    objects_.erase(found);
    changed_(before.get(), nullptr);
  }

  const Map& objects() const { return objects_; }

 private:
  // Deletions that are remembered until the next list, so that what was sent before them and comes
  // after them is known for what it is.
  static constexpr size_t kMostTombstones = 10'000;

  const Changed changed_;
  Map objects_;
  bool anew_ = false;
  absl::btree_set<Key> unnamed_;
  absl::btree_map<Key, std::string> tombstones_;
};

}  // namespace muster::kubernetes
