#include "services/kubernetes/api/errors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

// Schemas of CustomResourceDefinitions are the deepest, and stay below a third of it.
constexpr size_t kMaxJsonDepth = 100;

constexpr absl::string_view kPayload = "muster/kubernetes.ApiError";
constexpr size_t kShownBody = 200;  // bytes of a body that is no Status

absl::StatusCode CodeOf(int code, absl::string_view reason) {
  if (code >= 500) return absl::StatusCode::kUnavailable;
  switch (code) {
    case 400:
    case 413:
    case 415:
    case 422:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? absl::StatusCode::kAlreadyExists
                                       : absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kUnknown;
  }
}

std::string OneLine(absl::string_view body) {
  std::string text(absl::StripAsciiWhitespace(body).substr(0, kShownBody));
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return !absl::ascii_isprint(static_cast<unsigned char>(c)); }, ' ');
  return text;
}

// The payload is internal: it is written and read here only.
absl::Cord Render(const ApiError& error) {
  Json causes = Json::array();
  for (const auto& [reason, message] : error.causes) {
    Json cause = Json::object();
    cause["reason"] = reason;
    cause["message"] = message;
    causes.push_back(std::move(cause));
  }
  Json object = Json::object();
  object["code"] = error.code;
  object["reason"] = error.reason;
  object["retry_after"] = absl::ToInt64Milliseconds(error.retry_after);
  object["causes"] = std::move(causes);
  return absl::Cord(object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void AddCauses(const Json& causes, ApiError& error) {
  if (!causes.is_array()) return;
  for (const Json& cause : causes) {
    error.causes.emplace_back(TextOf(MemberOf(cause, "reason")),
                              TextOf(MemberOf(cause, "message")));
  }
}

absl::Status MakeStatus(const ApiError& error, absl::string_view message) {
  absl::Status status(CodeOf(error.code, error.reason), message);
  status.SetPayload(kPayload, Render(error));
  return status;
}

// `body` is a metav1.Status, or anything else: then `otherwise` is the message.
absl::Status StatusOf(int code, const Json& body, absl::Duration retry_after,
                      absl::string_view otherwise) {
  ApiError error;
  error.code = code;
  error.reason = TextOf(MemberOf(body, "reason"));
  const Json& details = MemberOf(body, "details");
  AddCauses(MemberOf(details, "causes"), error);
  error.retry_after = std::clamp(
      std::max(retry_after, absl::Seconds(NumberOf(MemberOf(details, "retryAfterSeconds")))),
      absl::ZeroDuration(), kMaxRetryAfter);
  const absl::string_view message = TextOf(MemberOf(body, "message"));
  return MakeStatus(error, message.empty() ? otherwise : message);
}

// Brackets that are open at once, those within texts not counted.
size_t DepthOf(absl::string_view text) {
  size_t open = 0;
  size_t deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++open);
    } else if ((c == ']' || c == '}') && open > 0) {
      --open;
    }
  }
  return deepest;
}

}  // namespace

Json ParseJson(absl::string_view text) {
  if (DepthOf(text) > kMaxJsonDepth) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, false);
}

absl::Status StatusOfAnswer(absl::string_view what, int code, absl::string_view body,
                            absl::Duration retry_after) {
  const Json parsed = ParseJson(body);
  const std::string shown = OneLine(body);
  return StatusOf(
      code, TextOf(MemberOf(parsed, "kind")) == "Status" ? parsed : Json(nullptr), retry_after,
      absl::StrCat(what, ": HTTP ", code, shown.empty() ? "" : absl::StrCat(": ", shown)));
}

absl::Status StatusOfEvent(absl::string_view what, const Json& object) {
  const int code =
      static_cast<int>(std::clamp<int64_t>(NumberOf(MemberOf(object, "code")), 0, 999));
  return StatusOf(code, object, absl::ZeroDuration(),
                  absl::StrCat(what, ": the server ended the watch with code ", code));
}

absl::Status HeldBack(absl::string_view what, absl::Duration pause) {
  absl::Status status = absl::UnavailableError(absl::StrCat(what, ": held back, it failed before"));
  // In whole milliseconds, and never too early.
  status.SetPayload(kPayload, Render({.retry_after = pause + absl::Milliseconds(1)}));
  return status;
}

ApiError ErrorOf(const absl::Status& status) {
  ApiError error;
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return error;
  const Json object = Json::parse(std::string(*payload), nullptr, false);
  error.code = static_cast<int>(NumberOf(MemberOf(object, "code")));
  error.reason = TextOf(MemberOf(object, "reason"));
  error.retry_after = absl::Milliseconds(NumberOf(MemberOf(object, "retry_after")));
  AddCauses(MemberOf(object, "causes"), error);
  return error;
}

bool IsForbiddenOrInvalid(const absl::Status& status) {
  return ErrorOf(status).code != 0 &&
         (absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status));
}

}  // namespace muster::kubernetes
