#include "tests/kubernetes/fake_api_server/refusal.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::testing {

using Json = nlohmann::json;

Json StatusBody(const Refusal& refusal) {
  Json status = {{"apiVersion", "v1"},         {"kind", "Status"},
                 {"metadata", Json::object()}, {"status", "Failure"},
                 {"code", refusal.code},       {"reason", refusal.reason},
                 {"message", refusal.message}, {"details", Json::object()}};
  if (!refusal.causes.empty()) status["details"]["causes"] = refusal.causes;
  if (refusal.retry_after > 0) status["details"]["retryAfterSeconds"] = refusal.retry_after;
  return status;
}

Refusal RefusalOf(int code, int retry_after) {
  const auto make = [&](const char* reason, const char* message) {
    return Refusal{code, reason, message, Json::array(), retry_after};
  };
  switch (code) {
    case 401:
      return make("Unauthorized", "Unauthorized");
    case 403:
      return make("Forbidden", "forbidden");
    case 404:
      return make("NotFound", "the server could not find the requested resource");
    case 409:
      return make("Conflict", "Operation cannot be fulfilled: the object has been modified");
    case 410:
      return make("Expired", "The resourceVersion for the provided watch is too old.");
    case 422:
      return make("Invalid", "the server rejected our request due to an error in our request");
    case 429:
      return make("TooManyRequests", "Too many requests, please try again later.");
    case 503:
      return make("ServiceUnavailable", "the server is currently unable to handle the request");
    case 504:
      return make("Timeout", "Timeout: request did not complete within the allotted timeout");
    default:
      return make("InternalError", "Internal error occurred");
  }
}

Refusal BadRequest(absl::string_view message) { return {400, "BadRequest", std::string(message)}; }

Refusal NotFound(absl::string_view resource, absl::string_view name) {
  return {404, "NotFound", absl::StrCat(resource, " \"", name, "\" not found")};
}

Refusal AlreadyExists(absl::string_view resource, absl::string_view name) {
  return {409, "AlreadyExists", absl::StrCat(resource, " \"", name, "\" already exists")};
}

Refusal Conflict(absl::string_view resource, absl::string_view name, absl::string_view message) {
  return {
      409, "Conflict",
      absl::StrCat("Operation cannot be fulfilled on ", resource, " \"", name, "\": ", message)};
}

Refusal Expired(absl::string_view message) { return {410, "Expired", std::string(message)}; }

Refusal Unprocessable(absl::string_view kind, absl::string_view name,
                      const std::vector<Invalid>& faults) {
  Refusal refusal{422, "Invalid", absl::StrCat(kind, " \"", name, "\" is invalid: ")};
  std::vector<std::string> texts;
  for (const Invalid& fault : faults) {
    texts.push_back(absl::StrCat(fault.field, ": ", fault.message));
    refusal.causes.push_back(Json::object(
        {{"reason", "FieldValueInvalid"}, {"field", fault.field}, {"message", fault.message}}));
  }
  absl::StrAppend(&refusal.message, absl::StrJoin(texts, ", "));
  return refusal;
}

}  // namespace muster::testing
