#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "services/common/testing/fake_clock.h"
#include "storage/postgres/watch.h"

namespace muster::testing {

// Stands in for storage::CommitLane without a database: commands are decided on the caller's
// thread, one at a time, each twice, as if the first transaction had been lost. Watches end at
// once. Thread-safe, except that all Subscribe calls must come first.
template <class State>
class MemoryLane {
 public:
  using Decide = absl::AnyInvocable<absl::Status(StagedState<State>&, absl::Time)>;
  using Done = absl::AnyInvocable<void(const absl::Status&, int64_t)>;
  using ReadDone = absl::AnyInvocable<void(const absl::Status&, const State*, int64_t)>;
  using Subscriber = std::function<void(absl::Span<const Revised<typename State::Change>>)>;

  void Submit(Decide decide, Done done, absl::Time = absl::InfiniteFuture()) {
    absl::Status status;
    std::vector<Revised<typename State::Change>> changes;
    int64_t revision = 0;
    {
      MutexLock lock(mutex_);
      {  // as a first try that is not committed
        StagedState<State> staged(state_, revision_);
        decide(staged, clock_.Now()).IgnoreError();
        staged.RollBack();
      }
      StagedState<State> staged(state_, revision_);
      status = decide(staged, clock_.Now());
      if (!status.ok()) staged.RollBack();
      changes = staged.changes();
      revision = revision_ = staged.revision();
    }
    if (!changes.empty()) Tell(changes);
    done(status, revision);
  }
  void Read(ReadDone done, absl::Time = absl::InfiniteFuture()) {
    State state;
    int64_t revision = 0;
    {
      MutexLock lock(mutex_);
      state = state_;
      revision = revision_;
    }
    done(absl::OkStatus(), &state, revision);
  }
  template <class F>
  auto Peek(F f) const {
    MutexLock lock(mutex_);
    return f(static_cast<const State&>(state_), revision_);
  }
  std::shared_ptr<storage::Watcher> Watch(storage::WatchOptions options) {
    auto watcher = std::make_shared<storage::Watcher>(std::move(options), 1);
    watcher->End(error::Unavailable("There is nothing to watch."));
    return watcher;
  }
  void Subscribe(Subscriber subscriber) { subscribers_.push_back(std::move(subscriber)); }
  const Clock& clock() const { return clock_; }

  // As if nothing but `state` had ever been committed, and no time had passed since StartClock.
  void Reset(const State& state) {
    {
      MutexLock lock(mutex_);
      state_ = state;
      revision_ = 1'000'000;  // beyond that of every row
      clock_.Advance(-std::exchange(passed_, absl::ZeroDuration()));
    }
    Tell({});
  }
  // From here on time passes.
  void StartClock() {
    MutexLock lock(mutex_);
    passed_ = absl::ZeroDuration();
  }
  void Advance(absl::Duration by) {
    MutexLock lock(mutex_);
    clock_.Advance(by);
    passed_ += by;
  }

 private:
  void Tell(const std::vector<Revised<typename State::Change>>& changes) {
    for (const Subscriber& subscriber : subscribers_) subscriber(changes);
  }

  FakeClock clock_;
  mutable Mutex mutex_;
  State state_ MUSTER_GUARDED_BY(mutex_);
  int64_t revision_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::Duration passed_ MUSTER_GUARDED_BY(mutex_) = absl::ZeroDuration();
  std::vector<Subscriber> subscribers_;  // before the first Submit
};

}  // namespace muster::testing
