#include "services/rpc/call_info.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "services/access/policy.h"
#include "services/common/random_bits.h"
#include "services/rpc/limits.h"
#include "services/trace/span.h"

namespace muster::rpc {
namespace {

constexpr char kRequestIdHeader[] = "x-request-id";
constexpr char kReasonHeader[] = "x-muster-reason";
constexpr char kTraceHeader[] = "traceparent";

bool IsRequestId(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isgraph(c); });
}

// gRPC lets every byte through.
std::string PrintableAscii(absl::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return result;
}

}  // namespace

absl::string_view ReadHeader(const grpc::ServerContextBase& context, const char* name) {
  const auto& headers = context.client_metadata();
  const auto it = headers.find(name);
  if (it == headers.end()) return {};
  return absl::string_view(it->second.data(), it->second.size());
}

CallInfo ReadCallInfo(grpc::ServerContextBase& context) {
  CallInfo info;
  const absl::string_view given = ReadHeader(context, kRequestIdHeader);
  info.request_id = IsRequestId(given) ? std::string(given) : NewId();
  info.reason = PrintableAscii(ReadHeader(context, kReasonHeader).substr(0, kMaxReasonBytes));
  static const std::string* const key = new std::string(kRequestIdHeader);
  context.AddInitialMetadata(*key, info.request_id);
  const auto caller =
      TraceContext::Parse(ReadHeader(context, kTraceHeader)).value_or(TraceContext());
  info.trace = trace::ChildOf(caller);
  info.parent_span_id = caller.span_id;
  return info;
}

Peer PeerOf(const grpc::ServerContextBase& context) {
  Peer peer{.address = context.peer()};
  const auto shown = context.auth_context();
  if (shown == nullptr) return peer;
  for (const grpc::string_ref& id : shown->FindPropertyValues("peer_spiffe_id"))
    peer.ids.emplace_back(id.data(), id.size());
  // Who shows a certificate comes by TLS.
  peer.encrypted = !peer.ids.empty();
  if (peer.encrypted) return peer;
  for (const grpc::string_ref& type : shown->FindPropertyValues("transport_security_type"))
    peer.encrypted = type == "ssl" || type == "tls";
  return peer;
}

std::string PrincipalOf(const Peer& peer) {
  // The handshake takes no certificate with another number of them.
  if (peer.ids.size() == 1) return peer.ids[0];
  if (!peer.ids.empty() || peer.encrypted) return access::kAnonymous;
  // gRPC knows no address of a call within the process.
  if (peer.address == "unknown") return access::kSelf;
  constexpr absl::string_view kHere[] = {"ipv4:127.", "ipv6:[::1]:", "ipv6:%5B::1%5D:", "unix:"};
  const bool is_here = std::any_of(std::begin(kHere), std::end(kHere), [&](absl::string_view here) {
    return absl::StartsWith(peer.address, here);
  });
  return is_here ? access::kLocal : access::kAnonymous;
}

std::string NewId() {
  // Fifteen digits fit into a string without an allocation.
  static constexpr char kDigits[] = "0123456789abcdef";
  uint64_t bits = RandomBits();
  std::string id(15, '0');
  for (char& c : id) {
    c = kDigits[bits & 15];
    bits >>= 4;
  }
  return id;
}

}  // namespace muster::rpc
