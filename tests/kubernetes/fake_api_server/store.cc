#include "tests/kubernetes/fake_api_server/store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

// Of one resource.
constexpr size_t kChangesRemembered = 8192;

Object Revise(int64_t version, const std::string& key, Json object) {
  object["metadata"]["resourceVersion"] = absl::StrCat(version);
  auto revision = std::make_shared<Revision>();
  revision->version = version;
  revision->key = key;
  revision->text = object.dump();
  revision->object = std::move(object);
  return revision;
}

}  // namespace

std::string FullText(const Resource& resource, const Revision& revision) {
  return absl::StrCat(R"({"apiVersion":")", resource.api_version(), R"(","kind":")", resource.kind,
                      R"(",)", absl::string_view(revision.text).substr(1));
}

Store::Store() {
  for (size_t i = 0; i < Resources().size(); ++i)
    collections_.push_back(std::make_unique<Collection>());
}

Object Store::Find(const Resource& resource, const std::string& key) const {
  const auto& objects = collections_[resource.index]->objects;
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

std::vector<Object> Store::All(const Resource& resource, absl::string_view space,
                               int64_t version) const {
  const Collection& collection = *collections_[resource.index];
  absl::btree_map<std::string, Object> then;
  for (auto change = collection.changes.rbegin();
       change != collection.changes.rend() && change->version > version; ++change) {
    then[change->last->key] = change->before;
  }
  absl::btree_map<std::string, Object> rewound;
  if (!then.empty()) {
    rewound = collection.objects;
    for (const auto& [key, object] : then) {
      if (object == nullptr) {
        rewound.erase(key);
      } else {
        rewound[key] = object;
      }
    }
  }
  const auto& objects = then.empty() ? collection.objects : rewound;
  const std::string prefix = space.empty() ? "" : KeyOf(space, "");
  std::vector<Object> found;
  for (auto at = objects.lower_bound(prefix);
       at != objects.end() && absl::StartsWith(at->first, prefix); ++at) {
    found.push_back(at->second);
  }
  return found;
}

void Store::Record(Collection& collection, Change change) {
  collection.changes.push_back(std::move(change));
  if (collection.changes.size() > kChangesRemembered) {
    collection.compacted = collection.changes.front().version;
    collection.changes.pop_front();
  }
  collection.changed.SignalAll();
}

Object Store::Put(const Resource& resource, const std::string& key, Json object) {
  Collection& collection = *collections_[resource.index];
  const Object revision = Revise(++version_, key, std::move(object));
  Object& slot = collection.objects[key];
  Record(collection, {version_, slot, revision, revision});
  slot = revision;
  return revision;
}

void Store::Erase(const Resource& resource, const std::string& key) {
  Collection& collection = *collections_[resource.index];
  const auto found = collection.objects.find(key);
  if (found == collection.objects.end()) return;
  const Object before = found->second;
  collection.objects.erase(found);
  const Object last = Revise(++version_, key, before->object);
  Record(collection, {version_, before, nullptr, last});
}

std::vector<Change> Store::Since(const Resource& resource, int64_t version) const {
  const std::deque<Change>& changes = collections_[resource.index]->changes;
  const auto first = std::upper_bound(
      changes.begin(), changes.end(), version,
      [](int64_t wanted, const Change& change) { return wanted < change.version; });
  return {first, changes.end()};
}

int64_t Store::compacted(const Resource& resource) const {
  return collections_[resource.index]->compacted;
}

Store::Backup Store::Save() const {
  Backup backup;
  for (const auto& collection : collections_) backup.push_back(collection->objects);
  return backup;
}

void Store::Restore(const Backup& backup) {
  for (size_t i = 0; i < backup.size(); ++i) collections_[i]->objects = backup[i];
  // Also above those of a backup of another one.
  for (const auto& collection : collections_) {
    for (const auto& [key, object] : collection->objects)
      version_ = std::max(version_, object->version);
  }
  Compact();
}

void Store::Compact() {
  ++version_;
  for (const auto& collection : collections_) {
    collection->changes.clear();
    collection->compacted = version_;
  }
  SignalAll();
}

CondVar& Store::changed(const Resource& resource) { return collections_[resource.index]->changed; }

void Store::SignalAll() {
  for (const auto& collection : collections_) collection->changed.SignalAll();
}

}  // namespace muster::testing
