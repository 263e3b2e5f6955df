#include "services/musterctl/query/patching.h"

#include <exception>
#include <stdexcept>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"

namespace muster::musterctl {

using nlohmann::json;

namespace {

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

// `step`: which of the operations is under way, from 1 on; 0: the patch as a whole.
json PatchedStepByStep(json object, const json& operations, size_t& step) {
  // The library refuses a patch that is no list.
  if (!operations.is_array()) return object.patch(operations);
  for (const json& operation : operations) {
    ++step;
    if (operation.is_object()) {
      CheckParent(object, operation, "path");
      CheckParent(object, operation, "from");
    }
    object = object.patch(json::array({operation}));
  }
  return object;
}

// What is wrong, without the library's name for it: `[json.exception.out_of_range.403] key ...`.
std::string Reason(size_t step, const std::exception& fault) {
  absl::string_view what = fault.what();
  const size_t end = what.find("] ");
  if (absl::StartsWith(what, "[json.exception.") && end != absl::string_view::npos)
    what.remove_prefix(end + 2);
  return step == 0 ? absl::StrCat("patch: ", what)
                   : absl::StrCat("patch: operation ", step, ": ", what);
}

absl::StatusOr<json> ParsedPatch(absl::string_view patch) {
  try {
    return json::parse(patch.begin(), patch.end());
  } catch (const json::parse_error& fault) {
    return absl::InvalidArgumentError(absl::StrCat(
        "patch: at character ", fault.byte, ": must be JSON, e.g. {\"spec\":{\"targetNodes\":3}}"));
  }
}

}  // namespace

absl::StatusOr<json> Patched(const json& object, absl::string_view type, absl::string_view patch) {
  ASSIGN_OR_RETURN(const json parsed, ParsedPatch(patch));
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
  size_t step = 0;
  try {
    return PatchedStepByStep(object, parsed, step);
  } catch (const json::other_error& e) {
    return absl::FailedPreconditionError(Reason(step, e));
  } catch (const json::out_of_range& e) {
    // This object has no such path; another may.
    return absl::FailedPreconditionError(Reason(step, e));
  } catch (const std::out_of_range& e) {
    return absl::FailedPreconditionError(Reason(step, e));
  } catch (const json::exception& e) {
    return absl::InvalidArgumentError(Reason(step, e));
  }
}

}  // namespace muster::musterctl
