#include "services/musterctl/query/patching.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace muster::musterctl {

using nlohmann::json;

absl::StatusOr<json> Patched(const json& object, absl::string_view type, absl::string_view patch) {
  const json parsed = json::parse(patch.begin(), patch.end(), nullptr, false);
  if (parsed.is_discarded())
    return absl::InvalidArgumentError("patch: must be JSON, e.g. {\"spec\":{\"targetNodes\":3}}");
  if (type == "merge") {
    if (!parsed.is_object())
      return absl::InvalidArgumentError("patch: a merge patch must be a JSON object");
    json changed = object;
    changed.merge_patch(parsed);
    return changed;
  }
  if (type != "json")
    return absl::InvalidArgumentError(
        absl::StrCat("--type: must be merge or json, is \"", type, "\""));
  try {
    return object.patch(parsed);
  } catch (const json::other_error& e) {
    return absl::FailedPreconditionError(absl::StrCat("patch: ", e.what()));
  } catch (const json::out_of_range& e) {
    // This object has no such path; another may.
    return absl::FailedPreconditionError(absl::StrCat("patch: ", e.what()));
  } catch (const json::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("patch: ", e.what()));
  }
}

}  // namespace muster::musterctl
