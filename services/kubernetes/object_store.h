#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/common/mutex.h"
#include "services/kubernetes/api/last_seen.h"
#include "services/kubernetes/api/reflector.h"

namespace muster::kubernetes {

// The objects of a collection as last seen, by key (see LastSeen). Thread-safe: lists and watches
// come by a reflector's thread, answers to writes by any.
template <class Object>
class ObjectStore final : public Sink {
 public:
  struct Options {
    Object (*read)(const Json&) = nullptr;
    std::string (*key)(const Object&) = nullptr;
    // Called with every change, one at a time; null: there was no object, or there is none any
    // more. It is called under the store's lock: it must not call the store.
    std::function<void(const Object* before, const Object* after)> changed = {};
  };

  explicit ObjectStore(Options options)
      : options_(std::move(options)), objects_(options_.changed) {}

  void BeginList() override {
    MutexLock lock(mutex_);
    objects_.BeginList();
  }
  void BeginAnew() override {
    MutexLock lock(mutex_);
    objects_.BeginAnew();
  }
  void PutListed(const Json& json) override { Take(json, &LastSeen<Object>::PutListed); }
  void EndList(const std::string& version) override {
    MutexLock lock(mutex_);
    objects_.EndList(version);
  }
  void Put(const Json& json) override { Take(json, &LastSeen<Object>::Put); }
  void Remove(const Json& json) override {
    const Object object = options_.read(json);
    MutexLock lock(mutex_);
    objects_.Remove(options_.key(object), object.resource_version);
  }

  std::shared_ptr<const Object> Find(const std::string& key) const {
    MutexLock lock(mutex_);
    const auto found = objects_.objects().find(key);
    return found == objects_.objects().end() ? nullptr : found->second;
  }

  std::vector<std::shared_ptr<const Object>> All() const {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<const Object>> all;
    all.reserve(objects_.objects().size());
    for (const auto& [key, object] : objects_.objects()) all.push_back(object);
    return all;
  }

  size_t size() const {
    MutexLock lock(mutex_);
    return objects_.objects().size();
  }

 private:
  void Take(const Json& json,
            void (LastSeen<Object>::*put)(const std::string& key, Object object)) {
    Object object = options_.read(json);
    const std::string key = options_.key(object);
    MutexLock lock(mutex_);
    (objects_.*put)(key, std::move(object));
  }

  const Options options_;
  mutable Mutex mutex_;
  LastSeen<Object> objects_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
