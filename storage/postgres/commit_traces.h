#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "services/common/trace_context.h"

namespace muster::storage {

// Which trace made which changes of a batch. In memory only: of what other processes commit nothing is
// known.
class CommitTraces {
 public:
  void Clear() { parts_.clear(); }
  // All after those that were added before, up to `last_revision`.
  void Add(int64_t last_revision, const TraceContext& trace) {
    parts_.emplace_back(last_revision, trace);
  }
  // Not valid: not known.
  TraceContext Find(int64_t revision) const {
    const auto part = std::lower_bound(
        parts_.begin(), parts_.end(), revision,
        [](const auto& candidate, int64_t sought) { return candidate.first < sought; });
    return part == parts_.end() ? TraceContext() : part->second;
  }

  // While they are published, on the thread that publishes: for subscribers.
  class Publishing {
   public:
    explicit Publishing(const CommitTraces& traces) { current_ = &traces; }
    ~Publishing() { current_ = nullptr; }
    Publishing(const Publishing&) = delete;
    Publishing& operator=(const Publishing&) = delete;
  };
  // Of a change that is being published. Not valid: not known.
  static TraceContext Of(int64_t revision) {
    return current_ == nullptr ? TraceContext() : current_->Find(revision);
  }

 private:
  inline static thread_local const CommitTraces* current_ = nullptr;
  std::vector<std::pair<int64_t, TraceContext>> parts_;  // last revision of each
};

}  // namespace muster::storage
