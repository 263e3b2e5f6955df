#pragma once

#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <vector>

namespace muster::trace {

// Interceptors for a channel: each call bears a `traceparent` that continues the trace of the
// thread that begins it (CurrentTrace), or begins a trace. Where spans are recorded, the call is a
// span of its own; where they are not, it bears the caller's span, and costs no interceptor.
std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> ClientCalls();

}  // namespace muster::trace
