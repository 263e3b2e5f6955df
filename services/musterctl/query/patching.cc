#include "services/musterctl/query/patching.h"

#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::musterctl {

using nlohmann::json;

// RFC 6902 requires the target of an operation to be a member of an object or list. The library
// does not report one whose parent is neither.
void CheckParent(const json& object, const json& operation, const char* field) {
  const auto path = operation.find(field);
  if (path == operation.end() || !path->is_string())
    return;  // the library says what is wrong with that
  const json::json_pointer pointer(path->get<std::string>());
  if (pointer.empty() || object.at(pointer.parent_pointer()).is_structured()) return;
  throw std::out_of_range(absl::StrCat(path->get<std::string>(), ": ",
                                       pointer.parent_pointer().to_string(),
                                       " is neither an object nor a list"));
}

json PatchedStepByStep(json object, const json& operations) {
  // The library refuses a patch that is no list.
  if (!operations.is_array()) return object.patch(operations);
  for (const json& operation : operations) {
    if (operation.is_object()) {
      CheckParent(object, operation, "path");
      CheckParent(object, operation, "from");
    }
    object = object.patch(json::array({operation}));
  }
  return object;
}

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
    return PatchedStepByStep(object, parsed);
  } catch (const json::other_error& e) {
    return absl::FailedPreconditionError(absl::StrCat("patch: ", e.what()));
  } catch (const json::out_of_range& e) {
    // This object has no such path; another may.
    return absl::FailedPreconditionError(absl::StrCat("patch: ", e.what()));
  } catch (const std::out_of_range& e) {
    return absl::FailedPreconditionError(absl::StrCat("patch: ", e.what()));
  } catch (const json::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("patch: ", e.what()));
  }
}

}  // namespace muster::musterctl
