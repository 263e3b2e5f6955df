#include "services/rpc/status.h"

#include <google/rpc/error_details.pb.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/cut.h"
#include "services/common/error.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

constexpr char kDomain[] = "muster";
// How many bytes the note takes that not all fields are named.
constexpr size_t kAndMoreBytes = 16;
// The most bytes that wrap a detail: an Any, with its type's URL.
constexpr size_t kWrapperBytes = 64;

// The part of a message that is sent.
std::string CutMessage(absl::string_view message) {
  size_t encoded = 0;
  size_t end = 0;
  for (; end < message.size(); ++end) {
    const char c = message[end];
    encoded += absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '%' ? 1 : 3;
    if (encoded > kMaxErrorMessageBytes) break;
  }
  return Cut(message, end);
}

// Adds details as long as they fit into the trailers.
class Packer {
 public:
  explicit Packer(google::rpc::Status& out) : out_(out) {}

  void Add(const google::protobuf::Message& detail) {
    const size_t size = detail.ByteSizeLong();
    if (size > left()) return;
    left_ -= size + kWrapperBytes;
    out_.add_details()->PackFrom(detail);
  }
  size_t left() const { return left_ - std::min(left_, kWrapperBytes); }

 private:
  google::rpc::Status& out_;
  size_t left_ = kMaxErrorDetailBytes;
};

void AddErrorInfo(Packer& packer, const error::Detail& detail) {
  google::rpc::ErrorInfo info;
  info.set_domain(kDomain);
  info.set_reason(detail.reason);
  info.mutable_metadata()->insert(detail.metadata.begin(), detail.metadata.end());
  packer.Add(info);
}

void AddResource(Packer& packer, const absl::Status& status, const error::Detail& detail) {
  const absl::StatusCode code = status.code();
  if (code == absl::StatusCode::kFailedPrecondition) {
    google::rpc::PreconditionFailure failure;
    auto* violation = failure.add_violations();
    violation->set_type(detail.reason);
    violation->set_subject(detail.resource);
    packer.Add(failure);
  } else if (code == absl::StatusCode::kResourceExhausted) {
    google::rpc::QuotaFailure failure;
    auto* violation = failure.add_violations();
    violation->set_subject(detail.resource);
    violation->set_description(CutMessage(status.message()));
    packer.Add(failure);
  }
  google::rpc::ResourceInfo resource;
  resource.set_resource_name(detail.resource);
  packer.Add(resource);
}

void AddFields(Packer& packer, const error::Detail& detail) {
  google::rpc::BadRequest bad_request;
  for (const error::FieldViolation& field : detail.fields) {
    auto* violation = bad_request.add_field_violations();
    violation->set_field(Cut(field.field, kMaxViolationBytes));
    violation->set_description(Cut(field.description, kMaxViolationBytes));
    if (bad_request.ByteSizeLong() + kAndMoreBytes > packer.left()) {
      violation->clear_field();
      violation->set_description("and more.");
      break;
    }
  }
  packer.Add(bad_request);
}

void AddRetry(Packer& packer, absl::Duration retry_after) {
  google::rpc::RetryInfo retry;
  absl::Duration rest;
  retry.mutable_retry_delay()->set_seconds(
      absl::IDivDuration(retry_after, absl::Seconds(1), &rest));
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  packer.Add(retry);
}

// Reads one google.rpc detail into `detail`. False: it is an ErrorInfo of another domain.
bool Merge(const google::protobuf::Any& any, error::Detail& detail) {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  google::rpc::ResourceInfo resource;
  google::rpc::RetryInfo retry;
  if (any.UnpackTo(&info)) {
    if (info.domain() != kDomain) return false;
    detail.reason = info.reason();
    detail.metadata.insert(info.metadata().begin(), info.metadata().end());
  } else if (any.UnpackTo(&bad_request)) {
    for (const auto& violation : bad_request.field_violations()) {
      detail.fields.push_back({violation.field(), violation.description()});
    }
  } else if (any.UnpackTo(&resource)) {
    detail.resource = resource.resource_name();
  } else if (any.UnpackTo(&retry)) {
    detail.retry_after = absl::Seconds(retry.retry_delay().seconds()) +
                         absl::Nanoseconds(retry.retry_delay().nanos());
  }
  return true;
}

// Codes beyond the sixteen come from a peer that is newer or broken.
absl::StatusCode KnownCode(int code) {
  return code >= 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated)
             ? static_cast<absl::StatusCode>(code)
             : absl::StatusCode::kUnknown;
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status out;
  out.set_code(static_cast<int>(status.code()));
  if (status.ok()) return out;
  out.set_message(CutMessage(status.message()));
  error::Detail detail = error::DetailOf(status).value_or(error::Detail{});
  if (detail.reason.empty()) detail.reason = absl::StatusCodeToString(status.code());
  Packer packer(out);
  AddErrorInfo(packer, detail);
  if (detail.retry_after) AddRetry(packer, *detail.retry_after);
  if (!detail.resource.empty()) AddResource(packer, status, detail);
  if (!detail.fields.empty()) AddFields(packer, detail);
  return out;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status details = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(details.code()), details.message(),
                      details.SerializeAsString());
}

absl::Status FromRpcStatus(const google::rpc::Status& status) {
  const absl::StatusCode code = KnownCode(status.code());
  if (code == absl::StatusCode::kOk) return absl::OkStatus();
  error::Detail detail;
  for (const google::protobuf::Any& any : status.details()) {
    if (!Merge(any, detail)) return absl::Status(code, status.message());
  }
  if (detail.reason.empty()) return absl::Status(code, status.message());
  return error::Make(code, status.message(), detail);
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const absl::StatusCode code = KnownCode(status.error_code());
  google::rpc::Status details;
  if (status.error_details().empty() || !details.ParseFromString(status.error_details())) {
    return absl::Status(code, status.error_message());
  }
  details.set_code(static_cast<int>(code));
  details.set_message(status.error_message());
  return FromRpcStatus(details);
}

absl::string_view CodeName(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return "OK";
    case grpc::StatusCode::CANCELLED:
      return "Canceled";
    case grpc::StatusCode::UNKNOWN:
      return "Unknown";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "InvalidArgument";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DeadlineExceeded";
    case grpc::StatusCode::NOT_FOUND:
      return "NotFound";
    case grpc::StatusCode::ALREADY_EXISTS:
      return "AlreadyExists";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "PermissionDenied";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "Unauthenticated";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "ResourceExhausted";
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "FailedPrecondition";
    case grpc::StatusCode::ABORTED:
      return "Aborted";
    case grpc::StatusCode::OUT_OF_RANGE:
      return "OutOfRange";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "Unimplemented";
    case grpc::StatusCode::INTERNAL:
      return "Internal";
    case grpc::StatusCode::UNAVAILABLE:
      return "Unavailable";
    case grpc::StatusCode::DATA_LOSS:
      return "DataLoss";
    case grpc::StatusCode::DO_NOT_USE:
      return "Unknown";
  }
  return "Unknown";
}

}  // namespace muster::rpc
