#include "services/rpc/inner_handler.h"

#include <google/protobuf/message.h>
#include <grpc/byte_buffer.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"

namespace muster::rpc::internal {
namespace {

// Answers a call that is not to reach its service.
using RefuseUnary = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
using RefuseStream =
    grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, grpc::ByteBuffer>;

// The handler is asked for its reactor once, within RunHandler.
template <class Handler>
void RunWithoutRequest(Handler& handler, const InnerHandler::Parameter& param) {
  grpc::Status status;
  void* data = nullptr;
  grpc_byte_buffer* nothing = grpc_raw_byte_buffer_create(nullptr, 0);
  void* request = handler.Deserialize(param.call->call(), nothing, &status, &data);
  handler.RunHandler(
      {param.call, param.server_context, request, grpc::Status(), data, param.call_requester});
}

}  // namespace

void InnerHandler::Run(const Parameter& param, void* inner) const {
  handler_.RunHandler(
      {param.call, param.server_context, param.request, param.status, inner, param.call_requester});
}

void InnerHandler::Refuse(const Parameter& param, const absl::Status& refusal) const {
  if (stream_) {
    RefuseStream handler([&](grpc::CallbackServerContext* context, const grpc::ByteBuffer*) {
      return FailStream<grpc::ByteBuffer>(context, refusal);
    });
    RunWithoutRequest(handler, param);
  } else {
    RefuseUnary handler(
        [&](grpc::CallbackServerContext* context, const grpc::ByteBuffer*, grpc::ByteBuffer*) {
          return Unary(context, [&](Responder responder) { responder.Finish(refusal); });
        });
    RunWithoutRequest(handler, param);
  }
}

std::shared_ptr<const void> InnerHandler::Keep(const Parameter& param, void* inner) const {
  grpc_call* const call = param.call->call();
  grpc_call_ref(call);
  auto discard = [call, request = param.request, inner](const void*) {
    if (inner != nullptr) {
      // Of a unary method: holds request and response, also where the request could not be parsed.
      static_cast<grpc::RpcAllocatorState*>(inner)->~RpcAllocatorState();
    } else if (request != nullptr) {
      static_cast<google::protobuf::Message*>(request)->~Message();
    }
    grpc_call_unref(call);
  };
  return {this, std::move(discard)};
}

absl::Status NoMemoryForRequest() {
  return absl::ResourceExhaustedError("There is no memory left for this request.");
}

}  // namespace muster::rpc::internal
