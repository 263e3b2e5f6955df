#include "services/trace/rpc_span.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/strip.h"

namespace muster::trace {
namespace {

// UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS.
constexpr int kServerFaults[] = {2, 4, 12, 13, 14, 15};

}  // namespace

Span RpcSpan(SpanKind kind, const TraceContext& context, uint64_t parent_span_id,
             absl::string_view method, absl::Time start) {
  const absl::string_view name = absl::StripPrefix(method, "/");
  const size_t slash = std::min(name.find('/'), name.size());
  Span span{.name = std::string(name),
            .kind = kind,
            .context = context,
            .parent_span_id = parent_span_id,
            .start = start};
  span.attributes = {{"rpc.system", "grpc"},
                     {"rpc.service", std::string(name.substr(0, slash))},
                     {"rpc.method", std::string(absl::StripPrefix(name.substr(slash), "/"))}};
  return span;
}

void EndRpcSpan(Span& span, int code, absl::string_view message, absl::Time end) {
  span.end = end;
  span.attributes.push_back({"rpc.grpc.status_code", int64_t{code}});
  const bool fault = std::find(std::begin(kServerFaults), std::end(kServerFaults), code) !=
                     std::end(kServerFaults);
  span.failed = span.kind == SpanKind::kClient ? code != 0 : fault;
  if (span.failed) span.message = std::string(message);
}

}  // namespace muster::trace
