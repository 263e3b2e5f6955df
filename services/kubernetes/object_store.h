#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "services/common/mutex.h"
#include "services/kubernetes/api/reflector.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {

// The objects of a collection as last seen, by key. What comes late (an object older than the one
// known, or than its deletion) changes nothing. Thread-safe: lists and watches come by a
// reflector's thread, answers to writes by any.
template <class Object>
class ObjectStore final : public Sink {
 public:
  struct Options {
    Object (*read)(const Json&) = nullptr;
    std::string (*key)(const Object&) = nullptr;
    // Told of every change, one at a time; null: there was none, there is none. Under the store's
    // lock: it must not ask the store.
    std::function<void(const Object* before, const Object* after)> changed = {};
  };

  explicit ObjectStore(Options options) : options_(std::move(options)) {}

  void BeginList() override {
    MutexLock lock(mutex_);
    unnamed_.clear();
    anew_ = false;
    for (const auto& [key, object] : objects_) unnamed_.insert(key);
  }

  void BeginAnew() override {
    MutexLock lock(mutex_);
    anew_ = true;
    tombstones_.clear();
  }

  void EndList() override {
    MutexLock lock(mutex_);
    anew_ = false;
    for (const std::string& key : std::exchange(unnamed_, {})) Erase(key);
    tombstones_.clear();
  }

  void Put(const Json& json) override {
    auto object = std::make_shared<const Object>(options_.read(json));
    const std::string key = options_.key(*object);
    MutexLock lock(mutex_);
    const bool first = unnamed_.erase(key) > 0;
    const auto gone = tombstones_.find(key);
    if (gone != tombstones_.end() && !IsLater(object->resource_version, gone->second)) return;
    std::shared_ptr<const Object>& slot = objects_[key];
    const bool measures = slot != nullptr && !(anew_ && first);
    if (measures && !IsLater(object->resource_version, slot->resource_version)) return;
    const std::shared_ptr<const Object> before = std::exchange(slot, std::move(object));
    options_.changed(before.get(), slot.get());
  }

  void Remove(const Json& json) override {
    const Object object = options_.read(json);
    const std::string key = options_.key(object);
    MutexLock lock(mutex_);
    const auto found = objects_.find(key);
    if (found != objects_.end() &&
        IsLater(found->second->resource_version, object.resource_version)) {
      return;
    }
    if (tombstones_.size() >= kMostBuried) tombstones_.clear();
    tombstones_[key] = object.resource_version;
    Erase(key);
  }

  std::shared_ptr<const Object> Find(const std::string& key) const {
    MutexLock lock(mutex_);
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }

  std::vector<std::shared_ptr<const Object>> All() const {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<const Object>> all;
    all.reserve(objects_.size());
    for (const auto& [key, object] : objects_) all.push_back(object);
    return all;
  }

  size_t size() const {
    MutexLock lock(mutex_);
    return objects_.size();
  }

 private:
  // Deletions that are remembered until the next list, so that what was sent before them and comes
  // after them is known for what it is.
  static constexpr size_t kMostBuried = 10'000;

  void Erase(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return;
    const std::shared_ptr<const Object> before = std::move(found->second);
    objects_.erase(found);
    options_.changed(before.get(), nullptr);
  }

  const Options options_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Object>> objects_
      MUSTER_GUARDED_BY(mutex_);
  bool anew_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<std::string> unnamed_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::string> tombstones_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
