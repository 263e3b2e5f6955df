#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// One hop of a W3C trace (https://www.w3.org/TR/trace-context/). A value; ids are in the order in
// which they are written.
struct TraceContext {
  static constexpr uint8_t kSampled = 1;  // of the flags: whoever began the trace wants its spans

  uint64_t trace_high = 0;
  uint64_t trace_low = 0;  // with trace_high not both 0, unless there is no trace
  uint64_t span_id = 0;    // 0: there is no trace
  uint8_t flags = 0;

  // Reads a `traceparent` header; nullopt when it is not one (then the trace is not continued).
  static std::optional<TraceContext> Parse(absl::string_view traceparent);
  // A new trace, with its first span. Not sampled.
  static TraceContext New();

  bool valid() const { return span_id != 0; }
  bool sampled() const { return (flags & kSampled) != 0; }
  std::string ToHeader() const;
  std::string TraceId() const;  // 32 lower-case hex digits
  std::string SpanId() const;   // 16 lower-case hex digits
  // The same trace, a new span.
  TraceContext Child() const;

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// The trace that the thread works for: calls that it makes, commands that it hands on and lines
// that it logs belong to it.
class CurrentTrace {
 public:
  // Holds for this thread until the end of the scope; scopes nest.
  explicit CurrentTrace(const TraceContext& trace);
  ~CurrentTrace();
  CurrentTrace(const CurrentTrace&) = delete;
  CurrentTrace& operator=(const CurrentTrace&) = delete;

  // An invalid one: there is none.
  static TraceContext Get();

 private:
  const TraceContext before_;
};

}  // namespace muster
