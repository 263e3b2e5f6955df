#include "services/musterctl/client/errors.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
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
  absl::Status result(static_cast<absl::StatusCode>(status.code()), status.message());
  if (!result.ok()) result.SetPayload(kPayload, absl::Cord(status.SerializeAsString()));
  return result;
}

absl::Status FromCode(int code, const std::string& message) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  return FromRpcStatus(status);
}

absl::Status RenameFields(const absl::Status& status,
                          const std::function<std::string(const std::string& field)>& rename) {
  google::rpc::Status details = Details(status);
  if (details.details().empty()) return status;
  for (auto& any : *details.mutable_details()) {
    google::rpc::BadRequest bad_request;
    if (!any.UnpackTo(&bad_request)) continue;
    for (auto& violation : *bad_request.mutable_field_violations()) {
      if (!violation.field().empty()) violation.set_field(rename(violation.field()));
    }
    any.PackFrom(bad_request);
  }
  return FromRpcStatus(details);
}

std::string ManifestPath(absl::string_view field) {
  if (absl::StartsWith(field, "spec.") || absl::StartsWith(field, "metadata."))
    return std::string(field);
  static constexpr absl::string_view kMessages[] = {"zone",    "instance_type", "machines", "quota",
                                                    "release", "cluster",       "node_pool"};
  const size_t dot = field.find('.');
  if (dot != absl::string_view::npos) {
    const absl::string_view first = field.substr(0, std::min(dot, field.find('[')));
    for (const absl::string_view message : kMessages) {
      if (first == message) return ManifestPath(field.substr(dot + 1));
    }
  }
  if (field == "name") return "metadata.name";
  std::string path = "spec.";
  bool upper = false;
  for (const char c : field) {
    if (c != '_') path.push_back(upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c);
    upper = c == '_';
  }
  return path;
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
        lines.push_back(violation.field().empty()
                            ? violation.description()
                            : absl::StrCat(violation.field(), ": ", violation.description()));
      }
    } else if (any.UnpackTo(&info)) {
      reason = info.reason();
    } else if (any.UnpackTo(&retry_info)) {
      retry = absl::StrCat(", try again in ", retry_info.retry_delay().seconds(), "s");
    }
  }
  const bool from_server = status.GetPayload(kPayload).has_value();
  if (lines.empty()) lines = absl::StrSplit(std::string(status.message()), '\n');
  const std::string code = absl::StatusCodeToString(status.code());
  if (from_server) {
    absl::StrAppend(&lines.back(), " (", code, reason.empty() || reason == code ? "" : ", ",
                    reason == code ? "" : reason, retry, ")");
  }
  return absl::StrCat("error: ", absl::StrJoin(lines, "\nerror: "), "\n");
}

}  // namespace muster::musterctl
