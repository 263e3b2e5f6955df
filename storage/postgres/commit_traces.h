#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "services/common/trace_context.h"

namespace muster::storage {

// Which trace made which changes of a batch. In memory only, so not known for other processes'
// commits. Not thread-safe.
class CommitTraces {
 public:
  void Clear() { parts_.clear(); }
  // Adds the trace of all changes after those added before, up to `last_revision`.
  void Add(int64_t last_revision, const TraceContext& trace) {
    parts_.emplace_back(last_revision, trace);
  }
  // The trace of the change `revision`; an invalid one: not known.
  TraceContext Find(int64_t revision) const {
    const auto part = std::lower_bound(
        parts_.begin(), parts_.end(), revision,
        [](const auto& candidate, int64_t sought) { return candidate.first < sought; });
    return part == parts_.end() ? TraceContext() : part->second;
  }

  // While one lives, Of() finds these traces, on this thread: for subscribers, while a batch is
  // published.
  class Publishing {
   public:
    explicit Publishing(const CommitTraces& traces) { current_ = &traces; }
    ~Publishing() { current_ = nullptr; }
    Publishing(const Publishing&) = delete;
    Publishing& operator=(const Publishing&) = delete;
  };
  // The trace of a change that this thread is publishing; an invalid one: not known.
  static TraceContext Of(int64_t revision) {
    return current_ == nullptr ? TraceContext() : current_->Find(revision);
  }

 private:
  inline static thread_local const CommitTraces* current_ = nullptr;
  std::vector<std::pair<int64_t, TraceContext>> parts_;  // last revision of each
};

}  // namespace muster::storage
