#include "services/trace/span.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "absl/time/clock.h"

namespace muster::trace {
namespace {

std::atomic<Recorder*> g_recorder = nullptr;
std::atomic<double> g_ratio = 0;

}  // namespace

void SetRecorder(Recorder* recorder, double ratio) {
  g_ratio = recorder == nullptr ? 0 : ratio;
  g_recorder = recorder;
}

bool IsSampled(uint64_t trace_low, double ratio) {
  // Of the 53 bits that a double holds exactly.
  return static_cast<double>(trace_low >> 11) < std::ldexp(ratio, 53);
}

TraceContext Begin() {
  TraceContext trace = TraceContext::New();
  if (IsSampled(trace.trace_low, g_ratio.load(std::memory_order_relaxed)))
    trace.flags |= TraceContext::kSampled;
  return trace;
}

TraceContext ChildOf(const TraceContext& parent) {
  return parent.valid() ? parent.Child() : Begin();
}

bool Recording() { return g_recorder.load(std::memory_order_acquire) != nullptr; }

bool Recording(const TraceContext& context) { return Recording() && context.sampled(); }

void Record(Span span) {
  Recorder* const recorder = g_recorder.load(std::memory_order_acquire);
  if (recorder != nullptr && span.context.sampled()) recorder->Record(std::move(span));
}

Counts& TheCounts() {
  static Counts counts;
  return counts;
}

void Causes::Add(const TraceContext& cause) {
  if (!cause.valid() || cause == first_) return;
  if (!first_.valid()) {
    first_ = cause;
  } else if (!first_.sampled() && cause.sampled()) {
    // The first sampled one becomes the first: it is the one that somebody wants to see.
    others_.insert(others_.begin(), std::exchange(first_, cause));
    if (others_.size() > kMaxLinks) others_.pop_back();
  } else if (others_.size() < kMaxLinks &&
             std::find(others_.begin(), others_.end(), cause) == others_.end()) {
    others_.push_back(cause);
  }
}

void Causes::Add(const Causes& causes) {
  Add(causes.first_);
  for (const TraceContext& other : causes.others_) Add(other);
}

Work::Work(absl::string_view name, Causes causes)
    : span_{.context = ChildOf(causes.first()), .parent_span_id = causes.first().span_id},
      recorded_(Recording(span_.context)),
      scope_(span_.context) {
  if (!recorded_) return;
  span_.name = std::string(name);
  span_.start = absl::Now();
  span_.links = std::move(causes).others();
}

Work::~Work() {
  if (!recorded_) return;
  span_.end = absl::Now();
  Record(std::move(span_));
}

void Work::Add(absl::string_view key, int64_t value) {
  if (recorded_) span_.attributes.push_back({std::string(key), value});
}

void Work::Add(absl::string_view key, absl::string_view value) {
  if (recorded_) span_.attributes.push_back({std::string(key), std::string(value)});
}

void Work::Fail(absl::string_view message) {
  span_.failed = true;
  span_.message = std::string(message);
}

}  // namespace muster::trace
