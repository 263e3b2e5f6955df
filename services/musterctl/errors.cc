#include "services/musterctl/errors.h"

#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/rpc/error_details.pb.h"

namespace muster::musterctl {
namespace {

constexpr char kPayload[] = "type.googleapis.com/google.rpc.Status";

google::rpc::Status Details(const absl::Status& status) {
  google::rpc::Status details;
  const auto payload = status.GetPayload(kPayload);
  if (payload.has_value() && !details.ParseFromString(std::string(*payload))) details.Clear();
  return details;
}

}  // namespace

absl::Status FromRpcStatus(const google::rpc::Status& status) {
  absl::Status result = FromCode(status.code(), status.message());
  if (!result.ok()) result.SetPayload(kPayload, absl::Cord(status.SerializeAsString()));
  return result;
}

absl::Status FromCode(int code, const std::string& message) {
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

std::string RenderError(const absl::Status& status) {
  std::vector<std::string> lines;
  std::string reason;
  std::string retry;
  const google::rpc::Status details = Details(status);
  for (const auto& any : details.details()) {
    google::rpc::BadRequest bad_request;
    google::rpc::ErrorInfo info;
    google::rpc::RetryInfo retry_info;
    if (any.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        lines.push_back(absl::StrCat(violation.field(), ": ", violation.description()));
      }
    } else if (any.UnpackTo(&info)) {
      reason = info.reason();
    } else if (any.UnpackTo(&retry_info)) {
      retry = absl::StrCat(", try again in ", retry_info.retry_delay().seconds(), "s");
    }
  }
  const bool from_server = status.GetPayload(kPayload).has_value() ||
                           status.code() == absl::StatusCode::kUnavailable ||
                           status.code() == absl::StatusCode::kDeadlineExceeded;
  if (lines.empty()) lines = absl::StrSplit(std::string(status.message()), '\n');
  const std::string code = absl::StatusCodeToString(status.code());
  if (from_server) {
    absl::StrAppend(&lines.back(), " (", code, reason.empty() || reason == code ? "" : ", ",
                    reason == code ? "" : reason, retry, ")");
  }
  return absl::StrCat("error: ", absl::StrJoin(lines, "\nerror: "), "\n");
}

}  // namespace muster::musterctl
