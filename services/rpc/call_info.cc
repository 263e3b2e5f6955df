#include "services/rpc/call_info.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

constexpr char kRequestIdHeader[] = "x-request-id";
constexpr char kTraceHeader[] = "traceparent";

uint64_t Random() {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return engine();
}

bool IsLowerHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(absl::string_view text) {
  return text.find_first_not_of('0') == absl::string_view::npos;
}

bool IsRequestId(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isgraph(c); });
}

absl::string_view Header(const grpc::ServerContextBase& context, const char* name) {
  const auto& headers = context.client_metadata();
  const auto it = headers.find(name);
  if (it == headers.end()) return {};
  return absl::string_view(it->second.data(), it->second.size());
}

}  // namespace

std::optional<TraceContext> TraceContext::Parse(absl::string_view traceparent) {
  // version "-" trace-id "-" parent-id "-" flags; a later version may append more after another
  // "-".
  if (traceparent.size() < 55 || traceparent[2] != '-' || traceparent[35] != '-' ||
      traceparent[52] != '-') {
    return std::nullopt;
  }
  const absl::string_view version = traceparent.substr(0, 2);
  const absl::string_view trace_id = traceparent.substr(3, 32);
  const absl::string_view span_id = traceparent.substr(36, 16);
  const absl::string_view flags = traceparent.substr(53, 2);
  if (!IsLowerHex(version) || !IsLowerHex(trace_id) || !IsLowerHex(span_id) || !IsLowerHex(flags) ||
      version == "ff" || IsZero(trace_id) || IsZero(span_id)) {
    return std::nullopt;
  }
  if (traceparent.size() > 55 && (version == "00" || traceparent[55] != '-')) return std::nullopt;
  uint32_t bits = 0;
  if (!absl::SimpleHexAtoi(flags, &bits)) return std::nullopt;
  return TraceContext{std::string(trace_id), std::string(span_id), static_cast<uint8_t>(bits)};
}

std::string TraceContext::ToHeader() const {
  return absl::StrCat("00-", trace_id, "-", span_id, "-", absl::Hex(flags, absl::kZeroPad2));
}

TraceContext TraceContext::Child() const {
  return {trace_id, absl::StrCat(absl::Hex(Random() | 1, absl::kZeroPad16)), flags};
}

CallInfo ReadCallInfo(grpc::ServerContextBase& context) {
  CallInfo info;
  const absl::string_view given = Header(context, kRequestIdHeader);
  info.request_id = IsRequestId(given) ? std::string(given) : NewId();
  static const std::string* const key = new std::string(kRequestIdHeader);
  context.AddInitialMetadata(*key, info.request_id);
  if (const auto trace = TraceContext::Parse(Header(context, kTraceHeader))) {
    info.trace = trace->Child();
  }
  return info;
}

std::string NewId() {
  // Fifteen digits fit into a string without an allocation.
  static constexpr char kDigits[] = "0123456789abcdef";
  uint64_t bits = Random();
  std::string id(15, '0');
  for (char& c : id) {
    c = kDigits[bits & 15];
    bits >>= 4;
  }
  return id;
}

}  // namespace muster::rpc
