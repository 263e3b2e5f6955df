#include "tests/kubernetes/fake_api_server/fields.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::testing {
namespace {

constexpr char kSeparator = '\x1f';

std::string Join(absl::string_view path, absl::string_view element) {
  if (path.empty()) return std::string(element);
  return absl::StrCat(path, absl::string_view(&kSeparator, 1), element);
}

enum class ListKind { kAtomic, kSet, kMap };
struct ListType {
  const char* path = "";
  ListKind kind = ListKind::kAtomic;
  const char* key = "";
};
constexpr ListType kListTypes[] = {
    {"f:metadata\x1f"
     "f:finalizers",
     ListKind::kSet, ""},
    {"f:metadata\x1f"
     "f:ownerReferences",
     ListKind::kMap, "uid"},
    {"f:status\x1f"
     "f:conditions",
     ListKind::kMap, "type"},
    {"f:status\x1f"
     "f:addresses",
     ListKind::kMap, "type"},
};

ListType TypeOf(absl::string_view path) {
  for (const ListType& type : kListTypes) {
    if (path == type.path) return type;
  }
  return {};
}

bool IsField(absl::string_view path, absl::string_view key) {
  if (path.empty()) return key != "apiVersion" && key != "kind";
  if (path != "f:metadata") return true;
  return key == "labels" || key == "annotations" || key == "finalizers" || key == "ownerReferences";
}

std::string Element(const ListType& type, const Json& item) {
  if (type.kind == ListKind::kSet) return absl::StrCat("v:", item.dump());
  Json key = Json::object();
  key[type.key] = item.value(type.key, Json());
  return absl::StrCat("k:", key.dump());
}

void Collect(const Json& value, const std::string& path, Fields& fields);

void CollectMembers(const Json& object, const std::string& path, Fields& fields) {
  for (const auto& [key, value] : object.items()) {
    if (IsField(path, key)) Collect(value, Join(path, absl::StrCat("f:", key)), fields);
  }
}

void Collect(const Json& value, const std::string& path, Fields& fields) {
  const ListType type = TypeOf(path);
  if (value.is_object() && (!value.empty() || path.empty() || path == "f:metadata")) {
    CollectMembers(value, path, fields);
  } else if (value.is_array() && type.kind != ListKind::kAtomic) {
    for (const Json& item : value) {
      const std::string item_path = Join(path, Element(type, item));
      fields.insert(item_path);
      if (type.kind == ListKind::kMap) CollectMembers(item, item_path, fields);
    }
  } else {
    fields.insert(path);
  }
}

void Compare(const Json* before, const Json* after, const std::string& path, Difference& diff);

void CompareMembers(const Json& before, const Json& after, const std::string& path,
                    Difference& diff) {
  for (const auto& [key, value] : before.items()) {
    if (!IsField(path, key)) continue;
    const auto found = after.find(key);
    Compare(&value, found == after.end() ? nullptr : &*found, Join(path, absl::StrCat("f:", key)),
            diff);
  }
  for (const auto& [key, value] : after.items()) {
    if (IsField(path, key) && !before.contains(key))
      Compare(nullptr, &value, Join(path, absl::StrCat("f:", key)), diff);
  }
}

void CompareItems(const ListType& type, const Json& before, const Json& after,
                  const std::string& path, Difference& diff) {
  std::map<std::string, std::pair<const Json*, const Json*>> items;
  for (const Json& item : before) items[Join(path, Element(type, item))].first = &item;
  for (const Json& item : after) items[Join(path, Element(type, item))].second = &item;
  for (const auto& [item_path, both] : items) {
    if (both.first == nullptr || both.second == nullptr) {
      Fields& fields = both.first == nullptr ? diff.changed : diff.removed;
      fields.insert(item_path);
      if (type.kind == ListKind::kMap)
        CollectMembers(both.first == nullptr ? *both.second : *both.first, item_path, fields);
    } else if (type.kind == ListKind::kMap && *both.first != *both.second) {
      CompareMembers(*both.first, *both.second, item_path, diff);
    }
  }
}

void Compare(const Json* before, const Json* after, const std::string& path, Difference& diff) {
  if (before == nullptr) return Collect(*after, path, diff.changed);
  if (after == nullptr) return Collect(*before, path, diff.removed);
  if (*before == *after) return;
  const ListType type = TypeOf(path);
  if (before->is_object() && after->is_object()) {
    CompareMembers(*before, *after, path, diff);
    if (after->empty()) diff.changed.insert(path);
    if (before->empty()) diff.removed.insert(path);
  } else if (before->is_array() && after->is_array() && type.kind != ListKind::kAtomic) {
    CompareItems(type, *before, *after, path, diff);
  } else if (before->is_structured() || after->is_structured()) {
    Collect(*after, path, diff.changed);
    Collect(*before, path, diff.removed);
    for (const std::string& changed : diff.changed) diff.removed.erase(changed);
  } else {
    diff.changed.insert(path);
  }
}

Json* FindItem(Json& list, const ListType& type, const std::string& element) {
  for (Json& item : list) {
    if (Element(type, item) == element) return &item;
  }
  return nullptr;
}

void MergeInto(Json& live, const Json& applied, const std::string& path) {
  const ListType type = TypeOf(path);
  if (live.is_object() && applied.is_object()) {
    for (const auto& [key, value] : applied.items())
      MergeInto(live[key], value, Join(path, absl::StrCat("f:", key)));
  } else if (live.is_array() && applied.is_array() && type.kind != ListKind::kAtomic) {
    for (const Json& item : applied) {
      const std::string element = Element(type, item);
      Json* known = FindItem(live, type, element);
      if (known == nullptr) {
        live.push_back(item);
      } else {
        MergeInto(*known, item, Join(path, element));
      }
    }
  } else {
    live = applied;
  }
}

// `elements[at...]` below `value`; `type` is of the list that value may be. True: value is empty
// now.
bool Remove(Json& value, const std::vector<std::string>& elements, size_t at, std::string path) {
  const std::string& element = elements[at];
  const bool is_last = at + 1 == elements.size();
  if (absl::StartsWith(element, "f:")) {
    const std::string key = element.substr(2);
    if (!value.is_object() || !value.contains(key)) return false;
    if (is_last || Remove(value[key], elements, at + 1, Join(path, element))) value.erase(key);
  } else if (value.is_array()) {
    const ListType type = TypeOf(path);
    const auto item = std::find_if(value.begin(), value.end(), [&](const Json& candidate) {
      return Element(type, candidate) == element;
    });
    if (item == value.end()) return false;
    if (is_last || Remove(*item, elements, at + 1, Join(path, element))) value.erase(item);
  }
  return value.empty() && at > 1;
}

void Prune(Json& node) {
  for (auto& [key, child] : node.items()) {
    if (key != ".") Prune(child);
  }
  if (node.size() == 1 && node.contains(".")) node = Json::object();
}

void Gather(const Json& node, const std::string& path, Fields& fields) {
  if ((node.empty() || node.contains(".")) && !path.empty()) fields.insert(path);
  for (const auto& [key, child] : node.items()) {
    if (key != ".") Gather(child, Join(path, key), fields);
  }
}

}  // namespace

Fields FieldsOf(const Json& object) {
  Fields fields;
  Collect(object, "", fields);
  return fields;
}

Difference Diff(const Json& before, const Json& after) {
  Difference diff;
  CompareMembers(before, after, "", diff);
  return diff;
}

Json Merge(const Json& live, const Json& applied) {
  Json merged = live;
  MergeInto(merged, applied, "");
  return merged;
}

void RemoveField(Json& object, absl::string_view path) {
  const std::vector<std::string> elements = absl::StrSplit(path, kSeparator);
  Remove(object, elements, 0, "");
}

bool Keeps(const Fields& fields, absl::string_view path) {
  if (fields.contains(path)) return true;
  if (absl::StartsWith(path.substr(path.rfind(kSeparator) + 1), "k:")) return false;
  const std::string below = Join(path, "");
  const auto next = fields.lower_bound(below);
  return next != fields.end() && absl::StartsWith(*next, below);
}

Json ToFieldsV1(const Fields& fields) {
  Json root = Json::object();
  for (const std::string& path : fields) {
    Json* node = &root;
    for (const absl::string_view element : absl::StrSplit(path, kSeparator)) {
      node = &(*node)[std::string(element)];
      if (node->is_null()) *node = Json::object();
    }
    (*node)["."] = Json::object();
  }
  Prune(root);
  return root;
}

Fields FromFieldsV1(const Json& fields) {
  Fields paths;
  Gather(fields, "", paths);
  return paths;
}

std::string Readable(absl::string_view path) {
  std::string text;
  for (absl::string_view element : absl::StrSplit(path, kSeparator)) {
    if (absl::ConsumePrefix(&element, "f:")) {
      absl::StrAppend(&text, ".", element);
    } else if (absl::ConsumePrefix(&element, "v:")) {
      absl::StrAppend(&text, "[=", element, "]");
    } else if (absl::ConsumePrefix(&element, "k:")) {
      const Json key = Json::parse(element.begin(), element.end());
      absl::StrAppend(&text, "[", key.begin().key(), "=", key.begin().value().dump(), "]");
    }
  }
  return text;
}

}  // namespace muster::testing
