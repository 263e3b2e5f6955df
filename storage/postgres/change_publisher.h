#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/read_barrier.h"
#include "storage/postgres/state_cell.h"
#include "storage/postgres/watch_hub.h"

namespace muster::storage {

// Shows what is committed: first in the memory of readers, then to subscribers, to reads that wait
// for it, and to watchers. The lane's thread publishes; anybody may subscribe.
template <class State>
class ChangePublisher {
 public:
  using Change = typename State::Change;
  // Told of every published change in order; an empty span: everything may have changed.
  using Subscriber = std::function<void(absl::Span<const Revised<Change>>)>;

  ChangePublisher(StateCell<State>& memory, WatchHub& watchers, ReadBarrier& reads)
      : memory_(memory), watchers_(watchers), reads_(reads) {}

  void Subscribe(Subscriber subscriber) {
    MutexLock lock(mutex_);
    subscribers_.push_back(std::move(subscriber));
  }

  // `changes` were applied to the working copy and are committed. `rows` are the same as the
  // journal has them, and also rows of kinds that only a later release knows.
  void Publish(const std::vector<Revised<Change>>& changes, const std::vector<JournalRow>& rows) {
    MutexLock turn(watchers_.publishing());
    MutexLock watch_lock(watchers_.mutex());
    memory_.Publish(changes);
    // Before the watchers: what these may see may depend on what subscribers know. Subscribers are
    // not told of an empty list, which would mean that everything may have changed.
    changes.empty() ? reads_.Wake() : Tell(changes);
    watchers_.Send(rows);
  }
  // The working copy was loaded anew, because of `why`: no watch can go on.
  void PublishReload(const Continuity& why) {
    MutexLock turn(watchers_.publishing());
    MutexLock watch_lock(watchers_.mutex());
    memory_.PublishAll();
    const int64_t at = memory_.at().revision;
    watchers_.EndAll(why.replaced() ? HistoryReplaced(why.reason)
                                    : error::RevisionCompacted(at, at));
    Tell({});
  }

 private:
  void Tell(absl::Span<const Revised<Change>> changes) {
    {
      MutexLock lock(mutex_);
      for (const Subscriber& subscriber : subscribers_) subscriber(changes);
    }
    reads_.Wake();
  }

  StateCell<State>& memory_;
  WatchHub& watchers_;
  ReadBarrier& reads_;
  Mutex mutex_;
  std::vector<Subscriber> subscribers_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::storage
