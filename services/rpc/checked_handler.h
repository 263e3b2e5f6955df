#pragma once

#include <google/protobuf/descriptor.h>
#include <grpc/grpc.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "services/access/caller.h"
#include "services/access/method_access.h"
#include "services/rpc/admission.h"
#include "services/rpc/deferred_call.h"
#include "services/rpc/guard.h"
#include "services/rpc/inner_handler.h"

namespace muster::rpc::internal {

// Stands before the handler of one method: see CheckedService.
class CheckedHandler final : public grpc::internal::MethodHandler {
 public:
  // `inner`: the handler of the generated code. `closed`: every call is refused. What is given by
  // reference must outlive this.
  CheckedHandler(const google::protobuf::MethodDescriptor& method,
                 grpc::internal::MethodHandler& inner, bool closed, const Guard& guard,
                 const access::PlaceOf& place_of, const access::CatchUp& catch_up,
                 const access::Answered& answered)
      : type_(*method.input_type()),
        unary_(!method.server_streaming()),
        closed_(closed),
        spared_(Guard::IsSpared(method.name())),
        guard_(guard),
        admission_(method, guard, place_of, catch_up, answered),
        inner_(method, inner) {}

  void* Deserialize(grpc_call* call, grpc_byte_buffer* bytes, grpc::Status* status,
                    void** data) override;
  void RunHandler(const HandlerParameter& param) override;

 private:
  // Of one call, between Deserialize and RunHandler.
  struct Held {
    absl::Status refusal = {};
    int64_t bytes = 0;           // of the request
    bool for_operators = false;  // memory is short
    void* inner = nullptr;       // what the inner handler holds
  };

  absl::Status Check(grpc_call* call, grpc_byte_buffer* bytes, bool& for_operators) const;
  absl::Status Unparsable() const;
  // The refused call, if it is to be kept back (RefusalPace).
  std::shared_ptr<DeferredCall> KeptBack(const access::Caller& caller, const DeferredMethod& method,
                                         const HandlerParameter& param, const Held& held) const;

  const google::protobuf::Descriptor& type_;
  const bool unary_;
  const bool closed_;
  const bool spared_;
  const Guard& guard_;
  const Admission admission_;
  const InnerHandler inner_;
};

}  // namespace muster::rpc::internal
