#pragma once

#include <google/protobuf/descriptor.h>
#include <grpc/grpc.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "absl/status/status.h"

namespace muster::rpc::internal {

// The handler that the generated code has for a method, as CheckedHandler uses it: it gets a call,
// or the call is answered instead of it. `inner`, in all functions: what Deserialize left in it.
class InnerHandler {
 public:
  using Parameter = grpc::internal::MethodHandler::HandlerParameter;

  // `handler` must outlive this.
  InnerHandler(const google::protobuf::MethodDescriptor& method,
               grpc::internal::MethodHandler& handler)
      : stream_(method.server_streaming()), handler_(handler) {}

  void* Deserialize(grpc_call* call, grpc_byte_buffer* bytes, grpc::Status* status,
                    void** inner) const {
    return handler_.Deserialize(call, bytes, status, inner);
  }
  void Run(const Parameter& param, void* inner) const;
  // Answers instead of the handler.
  void Refuse(const Parameter& param, const absl::Status& refusal) const;
  // Owns what Deserialize made, since the handler, which would destroy it, does not run. It lies in
  // the call's memory, and is read until the call is answered and logged, by whichever thread.
  std::shared_ptr<const void> Keep(const Parameter& param, void* inner) const;

 private:
  const bool stream_;
  grpc::internal::MethodHandler& handler_;
};

// What a call is refused with where std::bad_alloc was thrown.
absl::Status NoMemoryForRequest();

}  // namespace muster::rpc::internal
