#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::rpc {

// One hop of a W3C trace (https://www.w3.org/TR/trace-context/).
struct TraceContext {
  std::string trace_id = {};  // 32 lower-case hex digits, not all 0
  std::string span_id = {};   // 16 lower-case hex digits, not all 0
  uint8_t flags = 0;

  // Reads a `traceparent` header; nullopt when it is not one (then the trace is not continued).
  static std::optional<TraceContext> Parse(absl::string_view traceparent);
  std::string ToHeader() const;
  // The same trace, a new span.
  TraceContext Child() const;
};

// What a call carries along: into logs, back to the caller (`x-request-id`), and on to the services
// that it calls.
struct CallInfo {
  std::string request_id = {};
  std::optional<TraceContext> trace = {};  // this server's own span; none when the caller sent none
};

// Reads both headers and puts `x-request-id` into the answer's initial metadata. Must be called
// before anything is sent.
CallInfo ReadCallInfo(grpc::ServerContextBase& context);

// 15 random hex digits. Not a secret.
std::string NewId();

}  // namespace muster::rpc
