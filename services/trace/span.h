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

// Spans: what was done within a trace, from when to when. They are recorded if the program was told
// to (exporter.h), and only of sampled traces: whoever begins a trace says in its flags whether it
// is. If nothing is recorded, spans cost no more than a load (Recording).
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

// Sets who takes the spans of this process (null: nobody), and the share of the traces begun here
// that are sampled, 0 to 1. `recorder` must outlive its use: set null before it goes.
void SetRecorder(Recorder* recorder, double ratio);

// Whether a trace with that id is sampled if a share of `ratio`, 0 to 1, is: the same in every
// process.
bool IsSampled(uint64_t trace_low, double ratio);

// Begins a trace.
TraceContext Begin();
// A new span for work that is done for `parent`; if that is not valid, of a trace that begins here.
TraceContext ChildOf(const TraceContext& parent);
// Whether spans are recorded at all, and whether one of that context is wanted.
bool Recording();
bool Recording(const TraceContext& context);
// Records an ended span; does nothing if it is not to be recorded.
void Record(Span span);

// Since the start: spans that were sent, and spans that were left out.
struct Counts {
  std::atomic<int64_t> sent = 0;
  std::atomic<int64_t> left_out = 0;
};
Counts& TheCounts();

// The traces that caused some work: its span belongs to the first of them, and links to the others.
// Those that are not valid, or were added already, are left out; at most kMaxLinks are linked.
inline constexpr size_t kMaxLinks = 32;
class Causes {
 public:
  void Add(const TraceContext& cause);
  void Add(const Causes& causes);
  // An invalid one: there was none.
  const TraceContext& first() const { return first_; }
  std::vector<TraceContext> others() && { return std::move(others_); }
  const std::vector<TraceContext>& others() const& { return others_; }

 private:
  TraceContext first_ = {};
  std::vector<TraceContext> others_ = {};
};

// A span for work in the background, in the trace of what caused it or in a new one. What the
// thread does until the end of the scope belongs to it.
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
