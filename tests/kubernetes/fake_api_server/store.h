#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "services/common/mutex.h"
#include "tests/kubernetes/fake_api_server/resources.h"

namespace muster::testing {

using Json = nlohmann::json;

// An object at one version; never changed. `text` is `object` as JSON. Neither has apiVersion and
// kind.
struct Revision {
  int64_t version = 0;
  std::string key = {};
  Json object = {};
  std::string text = {};
};
using Object = std::shared_ptr<const Revision>;
// With apiVersion and kind.
std::string FullText(const Resource& resource, const Revision& revision);

struct Change {
  int64_t version = 0;
  Object before = {};  // null: added
  Object after = {};   // null: deleted
  Object last = {};    // what a watch shows: `after`, or the state in which it was deleted
};

// All objects, the one resourceVersion that grows with every change, and what changed lately. Not
// thread-safe.
class Store {
 public:
  Store();

  int64_t version() const { return version_; }
  // Null: there is none.
  Object Find(const Resource& resource, const std::string& key) const;
  // The objects of one namespace (empty: all) as they were at a version, by key. Changes that are
  // no longer remembered are not undone.
  std::vector<Object> All(const Resource& resource, absl::string_view space, int64_t version) const;
  // Sets metadata.resourceVersion.
  Object Put(const Resource& resource, const std::string& key, Json object);
  void Erase(const Resource& resource, const std::string& key);

  // The changes after a version, oldest first.
  std::vector<Change> Since(const Resource& resource, int64_t version) const;
  // The version up to which changes are forgotten: a watch from before it is refused.
  int64_t compacted(const Resource& resource) const;
  // All objects as they are, as a backup of etcd has them.
  using Backup = std::vector<absl::btree_map<std::string, Object>>;
  Backup Save() const;
  // As `etcdutl snapshot restore --bump-revision --mark-compacted`: the objects are those of the
  // backup, versions go on, and every version that a client knows is too old.
  void Restore(const Backup& backup);
  // Forgets all changes, so that every version that a client knows is too old.
  void Compact();
  // Signalled at every change of the resource. Guarded by the lock around this store.
  CondVar& changed(const Resource& resource);
  void SignalAll();

 private:
  struct Collection {
    absl::btree_map<std::string, Object> objects;
    std::deque<Change> changes;
    int64_t compacted = 0;
    CondVar changed;
  };
  void Record(Collection& collection, Change change);

  std::vector<std::unique_ptr<Collection>> collections_;
  int64_t version_ = 1;
};

}  // namespace muster::testing
