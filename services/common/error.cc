#include "services/common/error.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error_reasons.h"

namespace muster::error {
namespace {

constexpr char kPayloadUrl[] = "muster.error.Detail";

// The payload is a list of length-prefixed strings: tag, values. It never leaves the process.
void Append(std::string& out, absl::string_view part) {
  absl::StrAppend(&out, part.size(), ":", part);
}

std::optional<std::string> Take(absl::string_view& in) {
  const size_t colon = in.find(':');
  size_t size = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(in.substr(0, colon), &size))
    return std::nullopt;
  in.remove_prefix(colon + 1);
  if (size > in.size()) return std::nullopt;
  std::string part(in.substr(0, size));
  in.remove_prefix(size);
  return part;
}

}  // namespace

absl::Status Make(absl::StatusCode code, absl::string_view message, const Detail& detail) {
  std::string payload;
  Append(payload, detail.reason);
  Append(payload, detail.resource);
  Append(payload,
         detail.retry_after ? absl::StrCat(absl::ToInt64Microseconds(*detail.retry_after)) : "");
  Append(payload, absl::StrCat(detail.metadata.size()));
  for (const auto& [key, value] : detail.metadata) {
    Append(payload, key);
    Append(payload, value);
  }
  for (const FieldViolation& field : detail.fields) {
    Append(payload, field.field);
    Append(payload, field.description);
  }
  absl::Status status(code, message);
  status.SetPayload(kPayloadUrl, absl::Cord(payload));
  return status;
}

std::optional<Detail> DetailOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string bytes(*payload);
  absl::string_view in = bytes;
  Detail detail;
  detail.reason = Take(in).value_or("");
  detail.resource = Take(in).value_or("");
  long long micros = 0;
  if (absl::SimpleAtoi(Take(in).value_or(""), &micros))
    detail.retry_after = absl::Microseconds(micros);
  size_t entries = 0;
  if (!absl::SimpleAtoi(Take(in).value_or(""), &entries)) return std::nullopt;
  for (size_t i = 0; i < entries; ++i) {
    std::string key = Take(in).value_or("");
    detail.metadata[std::move(key)] = Take(in).value_or("");
  }
  while (!in.empty()) {
    auto field = Take(in);
    auto description = Take(in);
    if (!field || !description) return std::nullopt;
    detail.fields.push_back({*std::move(field), *std::move(description)});
  }
  return detail;
}

std::string ReasonOf(const absl::Status& status) {
  return DetailOf(status).value_or(Detail()).reason;
}

absl::Status InvalidField(absl::string_view field, absl::string_view description) {
  return InvalidFields({{std::string(field), std::string(description)}});
}

absl::Status InvalidFields(std::vector<FieldViolation> fields) {
  const std::string message =
      absl::StrJoin(fields, " ", [](std::string* out, const FieldViolation& violation) {
        if (!violation.field.empty()) absl::StrAppend(out, violation.field, ": ");
        absl::StrAppend(out, violation.description);
      });
  return Make(absl::StatusCode::kInvalidArgument, message,
              {.reason = "INVALID_FIELD", .fields = std::move(fields)});
}

absl::Status NotFound(absl::string_view resource) {
  return Make(absl::StatusCode::kNotFound, absl::StrCat(resource, " does not exist."),
              {.reason = "NOT_FOUND", .resource = std::string(resource)});
}

absl::Status AlreadyExists(absl::string_view resource) {
  return Make(absl::StatusCode::kAlreadyExists, absl::StrCat(resource, " exists already."),
              {.reason = "ALREADY_EXISTS", .resource = std::string(resource)});
}

absl::Status EtagMismatch(absl::string_view resource, absl::string_view given,
                          absl::string_view current) {
  return Make(absl::StatusCode::kAborted,
              absl::StrCat(resource, " was changed by somebody else: etag is \"", current,
                           "\", not \"", given, "\"."),
              {.reason = "ETAG_MISMATCH", .resource = std::string(resource)});
}

absl::Status GenerationTooOld(absl::string_view resource, long long given, long long last) {
  return Make(
      absl::StatusCode::kAborted,
      absl::StrCat(resource, ": generation ", given, " is older than the last one, ", last, "."),
      {.reason = kGenerationTooOld,
       .metadata = {{"generation", absl::StrCat(given)}, {"last_generation", absl::StrCat(last)}},
       .resource = std::string(resource)});
}

absl::Status FailedPrecondition(absl::string_view reason, absl::string_view resource,
                                absl::string_view message) {
  return Make(absl::StatusCode::kFailedPrecondition, message,
              {.reason = std::string(reason), .resource = std::string(resource)});
}

absl::Status Unavailable(absl::string_view message, absl::Duration retry_after) {
  return Make(absl::StatusCode::kUnavailable, message,
              {.reason = "UNAVAILABLE", .retry_after = retry_after});
}

absl::Status RevisionCompacted(long long asked, long long oldest) {
  return Make(
      absl::StatusCode::kOutOfRange,
      absl::StrCat("Revision ", asked, " was compacted away; the oldest to resume from is ", oldest,
                   ". Take a snapshot again."),
      {.reason = "REVISION_COMPACTED", .metadata = {{"oldest_revision", absl::StrCat(oldest)}}});
}

absl::Status RevisionInFuture(long long asked, long long current) {
  return Make(
      absl::StatusCode::kOutOfRange,
      absl::StrCat("Revision ", asked, " lies in the future; the current one is ", current, "."),
      {.reason = "REVISION_IN_FUTURE", .metadata = {{"current_revision", absl::StrCat(current)}}});
}

absl::Status WatchTooSlow(long long resume_revision) {
  return Make(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("The watch was read too slowly; resume after revision ", resume_revision, "."),
      {.reason = "WATCH_TOO_SLOW",
       .metadata = {{"resume_revision", absl::StrCat(resume_revision)}}});
}

absl::Status SnapshotTooSlow() {
  return Make(absl::StatusCode::kResourceExhausted,
              "The snapshot was read too slowly; begin with a snapshot again.",
              {.reason = "WATCH_TOO_SLOW"});
}

}  // namespace muster::error
