#pragma once

#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The one place where errors change between absl::Status, which our code uses, and what goes over
// the wire.
//
// Out: code and message stay; `services/common/error.h`'s Detail becomes google.rpc details:
// ErrorInfo (domain `muster`, always), BadRequest, ResourceInfo, with FAILED_PRECONDITION
// PreconditionFailure and with RESOURCE_EXHAUSTED QuotaFailure, RetryInfo. A status without a
// Detail gets ErrorInfo with the code's name as reason; other payloads never leave the process.
// Back: the same, so that a Detail survives the way through a server and a client. Details of
// others' domains are dropped.
namespace muster::rpc {

google::rpc::Status ToRpcStatus(const absl::Status& status);
grpc::Status ToGrpcStatus(const absl::Status& status);

absl::Status FromRpcStatus(const google::rpc::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

// `OK`, `InvalidArgument`...: as Go prints them, for metrics and logs.
absl::string_view CodeName(grpc::StatusCode code);

}  // namespace muster::rpc
