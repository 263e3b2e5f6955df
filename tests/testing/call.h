#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "absl/status/statusor.h"
#include "services/rpc/client/calls.h"

namespace muster::testing {

// Makes the call and waits for its end, without a deadline.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  grpc::ClientContext context;
  return rpc::Call(context, stub, method, request);
}

}  // namespace muster::testing
