#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/trace/span.h"

namespace muster::trace {

// The span of a call, by OpenTelemetry's conventions for RPC: named `package.Service/Method`, with
// `rpc.system`, `rpc.service` and `rpc.method`. `method`: `/package.Service/Method`.
Span RpcSpan(SpanKind kind, const TraceContext& context, uint64_t parent_span_id,
             absl::string_view method, absl::Time start);
// Adds `rpc.grpc.status_code` (gRPC's number), whether it failed, and the end. A client's call
// failed with any code but OK; a server's only with what is the server's fault.
void EndRpcSpan(Span& span, int code, absl::string_view message, absl::Time end);

}  // namespace muster::trace
