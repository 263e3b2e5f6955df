#pragma once

#include <string>

#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace muster::testing {

using Json = nlohmann::json;

// Fields of an object, as server-side apply counts them: scalars, atomic lists and empty maps by
// their path, items of a list-map and members of a set by their key. `metadata.finalizers` is a
// set; `status.conditions`, `status.addresses` and `metadata.ownerReferences` are list-maps; every
// other list is atomic, every map granular. What the server itself writes (`metadata.uid` and the
// like) is no field. The elements of a path are those of fieldsV1, e.g. `f:spec`.
using Fields = absl::btree_set<std::string>;

Fields FieldsOf(const Json& object);

// The fields that an edit touched. The path of a list's item itself is among them only if the item
// was added or removed.
struct Difference {
  Fields changed = {};  // or added
  Fields removed = {};
};
Difference Diff(const Json& before, const Json& after);

// `live` with the fields of `applied` in it.
Json Merge(const Json& live, const Json& applied);
// Takes a field out, and the maps and lists that it leaves empty.
void RemoveField(Json& object, absl::string_view path);
// Whether the owner of `fields` keeps `path` in the object: it owns the path or something below it.
// An item of a list-map is kept only by an owner of the item itself.
bool Keeps(const Fields& fields, absl::string_view path);

Json ToFieldsV1(const Fields& fields);
Fields FromFieldsV1(const Json& fields);
// For people, e.g. `.spec.unschedulable`.
std::string Readable(absl::string_view path);

}  // namespace muster::testing
