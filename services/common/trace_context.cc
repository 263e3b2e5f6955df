#include "services/common/trace_context.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/common/random_bits.h"

namespace muster {
namespace {

thread_local TraceContext t_current;

// Lower-case hex digits alone.
template <class Number>
bool Read(absl::string_view text, Number& number) {
  const bool is_hex = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  return is_hex && absl::SimpleHexAtoi(text, &number);
}

std::string Hex(uint64_t bits) { return absl::StrCat(absl::Hex(bits, absl::kZeroPad16)); }

}  // namespace

std::optional<TraceContext> TraceContext::Parse(absl::string_view traceparent) {
  // version "-" trace-id "-" parent-id "-" flags; a later version may append more after another
  // "-".
  if (traceparent.size() < 55 || traceparent[2] != '-' || traceparent[35] != '-' ||
      traceparent[52] != '-') {
    return std::nullopt;
  }
  uint32_t version = 0;
  uint32_t flags = 0;
  TraceContext trace;
  if (!Read(traceparent.substr(0, 2), version) ||
      !Read(traceparent.substr(3, 16), trace.trace_high) ||
      !Read(traceparent.substr(19, 16), trace.trace_low) ||
      !Read(traceparent.substr(36, 16), trace.span_id) || !Read(traceparent.substr(53, 2), flags)) {
    return std::nullopt;
  }
  if (version == 0xff || (trace.trace_high | trace.trace_low) == 0 || !trace.valid())
    return std::nullopt;
  if (traceparent.size() > 55 && (version == 0 || traceparent[55] != '-')) return std::nullopt;
  trace.flags = static_cast<uint8_t>(flags);
  return trace;
}

TraceContext TraceContext::New() {
  return {.trace_high = RandomBits(), .trace_low = RandomBits() | 1, .span_id = RandomBits() | 1};
}

std::string TraceContext::ToHeader() const {
  return absl::StrCat("00-", Hex(trace_high), Hex(trace_low), "-", Hex(span_id), "-",
                      absl::Hex(flags, absl::kZeroPad2));
}

std::string TraceContext::TraceId() const { return absl::StrCat(Hex(trace_high), Hex(trace_low)); }

std::string TraceContext::SpanId() const { return Hex(span_id); }

TraceContext TraceContext::Child() const {
  TraceContext child = *this;
  child.span_id = RandomBits() | 1;
  return child;
}

CurrentTrace::CurrentTrace(const TraceContext& trace) : before_(t_current) { t_current = trace; }
CurrentTrace::~CurrentTrace() { t_current = before_; }
TraceContext CurrentTrace::Get() { return t_current; }

}  // namespace muster
