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

// What an edit touched. An item's own path is told only where the item came or went.
struct Difference {
  Fields changed = {};  // or came
  Fields removed = {};
};
Difference Diff(const Json& before, const Json& after);

// `live` with the fields of `applied` in it.
Json Merge(const Json& live, const Json& applied);
// Takes a field out, and the maps and lists that it leaves empty.
void RemoveField(Json& object, absl::string_view path);
// Whether the owner of these fields keeps a path in the object: it owns it, or something below. Not
// so for an item of a list-map, which only those keep who own the item itself.
bool Keeps(const Fields& fields, absl::string_view path);

Json ToFieldsV1(const Fields& fields);
Fields FromFieldsV1(const Json& fields);
// For people, e.g. `.spec.unschedulable`.
std::string Readable(absl::string_view path);

}  // namespace muster::testing
