#pragma once

#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "storage/postgres/history.h"
#include "storage/postgres/served_position.h"

namespace muster::storage {

// A lane's memory: two copies of the state, which share their rows. The working one, on which
// decisions are made and taken back, belongs to the lane's thread. The served one, behind a reader
// lock, is what readers see, and never holds anything that is not committed.
template <class State>
class StateCell : public ServedPosition {
 public:
  using Change = typename State::Change;

  // --- thread-safe ---

  // f(const State&, int64_t revision) on the served copy.
  template <class F>
  auto Peek(F f) const {
    ReaderLock lock(served_mutex_);
    return f(static_cast<const State&>(served_), served_revision());
  }
  // The same with where it is: f(const State&, const Position&).
  template <class F>
  auto PeekAt(F f) const {
    ReaderLock lock(served_mutex_);
    return f(static_cast<const State&>(served_), held_at());
  }
  // The same for who looks again and again: commits that wait go first.
  template <class F>
  auto PeekInTurn(F f) const {
    ReaderLock lock(served_mutex_, ReaderLock::kInTurn);
    return f(static_cast<const State&>(served_), held_at());
  }
  const State& held() const ABSL_SHARED_LOCKS_REQUIRED(served_mutex_) { return served_; }

  // --- the lane's thread, and whoever loads before it runs ---

  State& working() { return working_; }
  // Where the working copy is, without what is staged on it.
  Position& at() { return at_; }

  // `changes` were applied to the working copy and are committed: readers see them from here on.
  void Publish(absl::Span<const Revised<Change>> changes) {
    WriterLock lock(served_mutex_);
    for (const Revised<Change>& change : changes) served_.Apply(change.change, change.revision);
    MoveTo(at_);
  }
  // Readers see the working copy, whatever they saw before.
  void PublishAll() {
    WriterLock lock(served_mutex_);
    served_ = working_;
    MoveTo(at_);
  }

 private:
  State working_;
  Position at_;
  State served_ MUSTER_GUARDED_BY(served_mutex_);
};

}  // namespace muster::storage
