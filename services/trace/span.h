#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/trace_context.h"

// Spans: what was done within a trace, from when to when. They are recorded where a program was told
// to (exporter.h), and of traces that are sampled: whoever begins a trace says so, in its flags. Where
// nothing is recorded, all that is left is a question (Recording) that costs a load.
namespace muster::trace {

// As OTLP numbers them.
enum class SpanKind { kInternal = 1, kServer = 2, kClient = 3 };

struct Attribute {
  std::string key = {};
  std::variant<std::string, int64_t> value = {};
};

struct Span {
  std::string name = {};
  SpanKind kind = SpanKind::kInternal;
  TraceContext context = {};    // its own
  uint64_t parent_span_id = 0;  // 0: the first of its trace
  absl::Time start = absl::UnixEpoch();
  absl::Time end = absl::UnixEpoch();
  std::vector<Attribute> attributes = {};
  std::vector<TraceContext> links = {};  // what of other traces caused it
  bool failed = false;
  std::string message = {};  // why it failed
};

// Takes spans that ended. Thread-safe; must not block.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void Record(Span span) = 0;
};

// `ratio`: the share of the traces that begin here which are sampled, 0 to 1. `recorder` must outlive
// its use: set null before it goes.
void SetRecorder(Recorder* recorder, double ratio);

// Whether a trace of that id is among a `ratio` of all, 0 to 1: everybody who asks with the same ratio
// gets the same answer.
bool IsSampled(uint64_t trace_low, double ratio);

// A trace that begins here.
TraceContext Begin();
// The span of work that is done for `parent`; where that is not valid, a trace begins.
TraceContext ChildOf(const TraceContext& parent);
// Whether spans are recorded at all, and whether one of that context is wanted.
bool Recording();
bool Recording(const TraceContext& context);
// Nothing happens when it is not.
void Record(Span span);

// Since the start: what went out, and what did not.
struct Counts {
  std::atomic<int64_t> sent = 0;
  std::atomic<int64_t> left_out = 0;
};
Counts& TheCounts();

// Work that was done for several traces at once is of the first of them, and names the others. Those
// that are not valid, or named already, are left out; at most kMaxLinks are named.
inline constexpr size_t kMaxLinks = 32;
class Causes {
 public:
  void Add(const TraceContext& cause);
  void Add(const Causes& causes);
  // Not valid: there was none.
  const TraceContext& first() const { return first_; }
  std::vector<TraceContext> others() && { return std::move(others_); }
  const std::vector<TraceContext>& others() const& { return others_; }

 private:
  TraceContext first_ = {};
  std::vector<TraceContext> others_ = {};
};

// Work in the background: a span of its own, in the trace of what caused it or in one that begins; what
// the thread does until the end of the scope belongs to it.
class Work {
 public:
  explicit Work(absl::string_view name, Causes causes = {});
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void Add(absl::string_view key, int64_t value);
  void Add(absl::string_view key, absl::string_view value);
  void Fail(absl::string_view message);

 private:
  Span span_;
  const bool recorded_;
  const CurrentTrace scope_;
};

}  // namespace muster::trace
