#include "tests/kubernetes/fake_api_server/ownership.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/fake_api_server/fields.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

struct Entry {
  std::string manager = {};
  std::string operation = {};
  std::string subresource = {};
  std::string api_version = {};
  std::string time = {};
  Fields fields = {};

  bool Is(const Writer& writer, const char* wanted) const {
    return manager == writer.manager && operation == wanted && subresource == writer.subresource;
  }
};

std::vector<Entry> Load(const Json& object) {
  std::vector<Entry> entries;
  if (!object.is_object()) return entries;
  for (const Json& each : object.at("metadata").value("managedFields", Json::array())) {
    entries.push_back({each.value("manager", ""), each.value("operation", ""),
                       each.value("subresource", ""), each.value("apiVersion", ""),
                       each.value("time", ""), FromFieldsV1(each.at("fieldsV1"))});
  }
  return entries;
}

Json Render(const std::vector<Entry>& entries) {
  Json managed = Json::array();
  for (const Entry& entry : entries) {
    if (entry.fields.empty()) continue;
    Json each = {{"manager", entry.manager},        {"operation", entry.operation},
                 {"apiVersion", entry.api_version}, {"time", entry.time},
                 {"fieldsType", "FieldsV1"},        {"fieldsV1", ToFieldsV1(entry.fields)}};
    if (!entry.subresource.empty()) each["subresource"] = entry.subresource;
    managed.push_back(std::move(each));
  }
  return managed;
}

// Its entry; made if there is none.
Entry& Own(std::vector<Entry>& entries, const Writer& writer, const char* operation) {
  for (Entry& entry : entries) {
    if (entry.Is(writer, operation)) return entry;
  }
  entries.push_back({writer.manager, operation, writer.subresource, writer.api_version});
  return entries.back();
}

void Subtract(Fields& fields, const Fields& others) {
  for (const std::string& path : others) fields.erase(path);
}

// Takes what changes away from the other managers, or refuses to.
void Resolve(std::vector<Entry>& entries, const Writer& writer, const Fields& changed, bool force) {
  Refusal refusal{409, "Conflict"};
  std::string first;
  for (Entry& entry : entries) {
    if (entry.Is(writer, "Apply")) continue;
    for (const std::string& path : changed) {
      if (!entry.fields.contains(path)) continue;
      const std::string with = absl::StrCat("conflict with \"", entry.manager, "\"");
      if (first.empty()) first = absl::StrCat(with, ": ", Readable(path));
      refusal.causes.push_back(
          Json::object({{"reason", "FieldManagerConflict"},
                        {"message", absl::StrCat(with, " using ", entry.api_version)},
                        {"field", Readable(path)}}));
    }
    if (force) Subtract(entry.fields, changed);
  }
  if (force || refusal.causes.empty()) return;
  refusal.message =
      absl::StrCat("Apply failed with ", refusal.causes.size(),
                   refusal.causes.size() == 1 ? " conflict: " : " conflicts: ", first);
  throw refusal;
}

// Removes what the writer no longer applies and nobody else keeps.
void RemoveAbandoned(Json& object, std::vector<Entry>& entries, const Writer& writer,
                     const Fields& applied) {
  const Fields owned = Own(entries, writer, "Apply").fields;
  const Json before = object;
  for (const std::string& path : owned) {
    if (applied.contains(path)) continue;
    const bool is_kept = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return !entry.Is(writer, "Apply") && Keeps(entry.fields, path);
    });
    if (!is_kept) RemoveField(object, path);
  }
  const Fields gone = Diff(before, object).removed;
  for (Entry& entry : entries) Subtract(entry.fields, gone);
}

}  // namespace

Json OwnershipAfter(const Json& before, const Json& after, const Writer& writer) {
  std::vector<Entry> entries = Load(before);
  const Difference diff = before.is_null() ? Difference{FieldsOf(after)} : Diff(before, after);
  Entry& own = Own(entries, writer, "Update");
  for (Entry& entry : entries) {
    Subtract(entry.fields, diff.removed);
    if (&entry != &own) Subtract(entry.fields, diff.changed);
  }
  own.fields.insert(diff.changed.begin(), diff.changed.end());
  own.time = writer.now;
  return Render(entries);
}

std::optional<Json> Apply(const Json& live, const Json& config, const Writer& writer, bool force) {
  std::vector<Entry> entries = Load(live);
  const Fields applied = FieldsOf(config);
  Json merged = config;
  if (!live.is_null()) {
    merged = Merge(live, config);
    Resolve(entries, writer, Diff(live, merged).changed, force);
  }
  RemoveAbandoned(merged, entries, writer, applied);
  Entry& own = Own(entries, writer, "Apply");
  own.fields = applied;
  own.api_version = writer.api_version;
  merged["metadata"]["managedFields"] = Render(entries);
  if (!live.is_null() && merged == live) return std::nullopt;
  own.time = writer.now;
  merged["metadata"]["managedFields"] = Render(entries);
  return merged;
}

}  // namespace muster::testing
