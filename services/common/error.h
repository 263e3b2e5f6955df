#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// The base of every domain's error factories. An error is an absl::Status whose payload carries
// what services/rpc renders as google.rpc details; nothing here knows of protobuf.
namespace muster::error {

// One field that is wrong: its path as the caller wrote it (`spec.image.kernel`), and what is
// allowed.
struct FieldViolation {
  std::string field = {};
  std::string description = {};
  bool operator==(const FieldViolation&) const = default;
};

// What an error says beside its code and message.
struct Detail {
  std::string reason = {};  // UPPER_SNAKE, documented at the RPC → ErrorInfo
  std::map<std::string, std::string> metadata = {};  // → ErrorInfo.metadata
  std::vector<FieldViolation> fields = {};           // → BadRequest
  std::string resource = {};  // resource name → ResourceInfo; with FAILED_PRECONDITION the subject
                              // of PreconditionFailure
  std::optional<absl::Duration> retry_after = {};  // → RetryInfo
};

// A status with a detail. `code` must not be OK.
absl::Status Make(absl::StatusCode code, absl::string_view message, const Detail& detail);

// The detail of a status made here; nullopt for any other.
std::optional<Detail> DetailOf(const absl::Status& status);
// The reason of its detail; empty without one.
std::string ReasonOf(const absl::Status& status);

// INVALID_ARGUMENT, INVALID_FIELD: "`field` description". Several faults: one status that lists
// them all.
absl::Status InvalidField(absl::string_view field, absl::string_view description);
absl::Status InvalidFields(std::vector<FieldViolation> fields);
// NOT_FOUND, NOT_FOUND: "`resource` does not exist."
absl::Status NotFound(absl::string_view resource);
// ALREADY_EXISTS, ALREADY_EXISTS: "`resource` exists already."
absl::Status AlreadyExists(absl::string_view resource);
// ABORTED, ETAG_MISMATCH.
absl::Status EtagMismatch(absl::string_view resource, absl::string_view given,
                          absl::string_view current);
// ABORTED, GENERATION_TOO_OLD.
absl::Status GenerationTooOld(absl::string_view resource, long long given, long long last);
// FAILED_PRECONDITION with a reason of the caller's.
absl::Status FailedPrecondition(absl::string_view reason, absl::string_view resource,
                                absl::string_view message);
// UNAVAILABLE, UNAVAILABLE, with a time to wait: the database is away, the server stops, a queue is
// full.
absl::Status Unavailable(absl::string_view message, absl::Duration retry_after = absl::Seconds(1));
// OUT_OF_RANGE, REVISION_COMPACTED / REVISION_IN_FUTURE: a watch cannot begin there.
absl::Status RevisionCompacted(long long asked, long long oldest);
absl::Status RevisionInFuture(long long asked, long long current);
// RESOURCE_EXHAUSTED, WATCH_TOO_SLOW: metadata `resume_revision` says where to go on.
absl::Status WatchTooSlow(long long resume_revision);
// The same of a watch that had not come to the end of its snapshot: there is nowhere to go on.
absl::Status SnapshotTooSlow();

}  // namespace muster::error
