#include "services/rpc/field_mask.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::rpc {

void CheckUpdateMask(const google::protobuf::FieldMask& mask,
                     absl::Span<const absl::string_view> updatable, error::Faults& faults) {
  for (const std::string& path : mask.paths()) {
    if (path == "*" || std::find(updatable.begin(), updatable.end(), path) != updatable.end())
      continue;
    // One will do: a mask has no more to it than its paths.
    return faults.Add("update_mask", absl::StrCat("`", path, "` cannot be updated; allowed: ",
                                                  absl::StrJoin(updatable, ", "), "."));
  }
}

bool InUpdateMask(const google::protobuf::FieldMask& mask, absl::string_view path) {
  if (mask.paths().empty()) return true;
  return std::any_of(mask.paths().begin(), mask.paths().end(), [path](const std::string& given) {
    return given == "*" || absl::string_view(given) == path;
  });
}

}  // namespace muster::rpc
