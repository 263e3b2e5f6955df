#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/common/trace_context.h"

namespace muster::rpc {

// What a call carries along: into logs, back to the caller (`x-request-id`), and on to the services
// that it calls.
struct CallInfo {
  std::string request_id = {};
  // Why the caller does it, in its own words (`x-muster-reason`); empty: it does not say.
  std::string reason = {};
  TraceContext trace = {};  // this server's own span: of the caller's trace, or of one begun here
  uint64_t parent_span_id = 0;  // the caller's; 0: the trace begins here
};

// Reads the call's headers and puts `x-request-id` into the answer's initial metadata. An invalid
// `traceparent` is ignored, a reason is cut to kMaxReasonBytes. Must be called before anything is
// sent.
CallInfo ReadCallInfo(grpc::ServerContextBase& context);

// A header that the caller sent; empty without one. Lives as long as `context`.
absl::string_view ReadHeader(const grpc::ServerContextBase& context, const char* name);

// The other end of a connection.
struct Peer {
  std::vector<std::string> ids =
      {};                    // SPIFFE IDs of the certificate that it showed; none: it showed none
  bool encrypted = false;    // by TLS
  std::string address = {};  // as gRPC writes it
};
Peer PeerOf(const grpc::ServerContextBase& context);

// The name of the caller behind a connection: the SPIFFE ID of its certificate; `self`: this
// process; `local`: in plain text from this machine; `anonymous`: without a certificate, by TLS or
// from another machine.
std::string PrincipalOf(const Peer& peer);

// 15 random hex digits. Not a secret.
std::string NewId();

}  // namespace muster::rpc
