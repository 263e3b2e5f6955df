#pragma once

#include <grpcpp/server_context.h>

#include <utility>

#include "services/common/faults.h"
#include "services/rpc/unary.h"

namespace muster::rpc {

// As Unary, for a request that may be wrong: `parse(request, faults)` returns the query or adds
// faults, with which the call is refused; without faults `handle(Responder, query)` answers.
template <class Request, class Parse, class Handle>
grpc::ServerUnaryReactor* ParsedUnary(grpc::CallbackServerContext* context, const Request& request,
                                      Parse parse, Handle handle) {
  return Unary(context, [&](Responder responder) {
    error::Faults faults;
    auto parsed = parse(request, faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    handle(std::move(responder), std::move(parsed));
  });
}

}  // namespace muster::rpc
