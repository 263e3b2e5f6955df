#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/musterctl/manifest/kinds.h"

namespace muster::musterctl {

// One field of a message of the API, as manifests write it.
struct SchemaField {
  const char* message;  // e.g. `muster.lifecycle.v1.NodePoolSpec`
  const char* name;     // e.g. `instanceType`
  const char* type;     // e.g. `string`, `[]Taint`, `map[string]string`
  const char* of;       // the message type of its values; empty: they are no messages
  const char* comment;  // as in the proto
};
struct SchemaMessage {
  const char* name;
  const char* comment;
};
// Made by the build from the descriptors. Ends with a null name.
extern const SchemaField kSchemaFields[];
extern const SchemaMessage kSchemaMessages[];

// The text of `explain` for a field: the path of `nodepool.spec.lifecycle` is {"spec",
// "lifecycle"}. With `recursive` all fields below it, without their meaning. NOT_FOUND names the
// unknown field, and those that exist.
absl::StatusOr<std::string> ExplainFields(Kind kind, const std::vector<std::string>& path,
                                          bool recursive);

// The names of the fields at the path; empty: there is no such path.
std::vector<std::string> FieldsAt(Kind kind, const std::vector<std::string>& path);

}  // namespace muster::musterctl
