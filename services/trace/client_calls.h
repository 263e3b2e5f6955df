#pragma once

#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <vector>

namespace muster::trace {

// For a channel: every call on it goes on in the caller's trace (CurrentTrace of the thread that
// begins the call), or begins one: it bears `traceparent`, and is a span where spans are recorded. Where
// they are not, the call bears the caller's own span, and costs no interceptor.
std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> ClientCalls();

}  // namespace muster::trace
