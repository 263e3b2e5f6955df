#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/author.h"
#include "services/common/current_caller.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/common/state.h"
#include "services/common/trace_context.h"
#include "services/common/turn_queue.h"
#include "storage/postgres/lane_db.h"
#include "storage/postgres/wakeup.h"

namespace muster::storage {

// What one caller wants of a lane.
template <class State>
struct LaneCommand {
  // Decides. May run several times (the transaction may be tried again), so it must depend on its
  // arguments and captured values alone, and overwrite what it left before. An error takes back
  // what it put on the staged state. `now` is the database's time, as LaneClock knows it, and never
  // before the last commit's.
  using Decide = absl::AnyInvocable<absl::Status(StagedState<State>&, absl::Time now)>;
  // Called once. OK: its batch is committed (also if the command itself changed nothing), and
  // `revision` is what the answer shows. Errors: Decide's own; UNAVAILABLE nothing was written, try
  // again; DEADLINE_EXCEEDED it waited too long; UNKNOWN the outcome of the commit could not be
  // settled, e.g. because the process stops; INTERNAL the tables refused what the core decided.
  using Done = absl::AnyInvocable<void(const absl::Status&, int64_t revision)>;

  Decide decide;
  Done done;
  absl::Time deadline;
  std::string incarnation = {};
  absl::Status status = {};                   // what Decide said
  TraceContext trace = CurrentTrace::Get();   // of whoever submits it
  uint64_t caller = CurrentCaller::Number();  // whose turn it takes
  Author author = CurrentCaller::GetAuthor();
  bool first = CurrentCaller::GoesFirst();  // before those of others
};

// The work of the lane's thread: commands, which it takes in batches, from all callers in turn;
// requests to look at the head; inspections. Thread-safe.
//
// Commands that go first (what is reported of Nodes, leases) have a line of their own, and are
// taken before the others. These do not starve: as long as some wait, every fourth command that is
// taken is one of them. So what is reported in a flood takes three quarters of what the lane
// commits, and no more.
template <class State>
class CommitQueue {
 public:
  struct Work {
    std::vector<LaneCommand<State>> batch = {};
    std::function<void()> inspection = {};  // null: none
    bool look = false;                      // there may be something new at the head
    bool answered = false;                  // the socket is readable
    bool closed = false;                    // what is not sent will not be done any more
  };

  explicit CommitQueue(const LaneOptions& options) : options_(options) {}

  // `done` of a command that is refused is called at once, with UNAVAILABLE: the intake is closed,
  // its line is full, or this caller fills half of it, rounded up. Each of the two lines holds
  // LaneOptions::max_queue.
  void Submit(LaneCommand<State> command);
  // There is something new at the head.
  void Poke();
  // Runs `inspection` on the lane's thread between two batches, and waits for its end. UNAVAILABLE:
  // the lane stops, or another inspection has not begun yet.
  absl::Status Inspect(const std::function<void()>& inspection);

  // Answers the commands that wait with `status`.
  void Fail(const absl::Status& status);
  // Refuses commands from now on, and tells the lane's thread so, once (Work::closed).
  void CloseIntake();
  // Hands out no more work: Await returns false. Returns false if it was stopped before.
  bool Stop();
  // Commands that were accepted so far, without those that Fail answered.
  int64_t accepted() const {
    MutexLock lock(mutex_);
    return accepted_;
  }

  // The lane's thread waits for work, of at most `room` commands, and for `socket`; at most
  // LaneOptions::poll, then it is to look at the head. False: the lane stops.
  bool Await(Work& work, size_t room, AwaitedSocket socket = {});

 private:
  using Commands = std::vector<LaneCommand<State>>;
  using Line = TurnQueue<LaneCommand<State>>;
  // How many of the commands that go first are taken for each of the others.
  static constexpr size_t kFirstForEach = 3;

  bool HasWork(size_t room) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || closing_ || poked_ || inspection_ != nullptr ||
           (room > 0 && !(first_.empty() && others_.empty()));
  }
  // Whether `caller` fills half of the line. Never the process itself (0), which need not leave
  // room for others.
  bool HasHisShare(const Line& line, uint64_t caller) const {
    return caller != 0 && line.size_of(caller) * 2 >= options_.max_queue;
  }
  // Takes at most `most` commands, in the order in which they are to be decided.
  Commands Take(size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes the lane's thread, if it sleeps.
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(sleeping_, false)) wakeup_.Signal();
  }
  // What a caller of Inspect waits for, on its stack.
  struct Inspection {
    const std::function<void()>* run = nullptr;
    bool done = false;  // guarded by mutex_
  };

  const LaneOptions& options_;
  mutable Mutex mutex_;
  Wakeup wakeup_;
  bool sleeping_ MUSTER_GUARDED_BY(mutex_) = false;
  bool takes_commands_ MUSTER_GUARDED_BY(mutex_) = false;  // whoever sleeps has room for some
  Line first_ MUSTER_GUARDED_BY(mutex_);
  Line others_ MUSTER_GUARDED_BY(mutex_);
  // Commands that were taken while both lines waited, since the last that was due to the others.
  size_t since_others_ MUSTER_GUARDED_BY(mutex_) = 0;
  int64_t accepted_ MUSTER_GUARDED_BY(mutex_) = 0;
  Inspection* inspection_ MUSTER_GUARDED_BY(mutex_) = nullptr;  // that has not begun
  CondVar inspected_;                                           // one has ended, or the lane stops
  bool poked_ MUSTER_GUARDED_BY(mutex_) = false;
  bool intake_over_ MUSTER_GUARDED_BY(mutex_) = false;
  bool closing_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
};

template <class State>
void CommitQueue<State>::Submit(LaneCommand<State> command) {
  absl::Status refused;
  {
    MutexLock lock(mutex_);
    Line& line = command.first ? first_ : others_;
    if (intake_over_) {
      refused = error::Unavailable("The server stops.");
    } else if (line.size() >= options_.max_queue || HasHisShare(line, command.caller)) {
      refused = error::Unavailable("Too many requests wait to be committed.");
    } else {
      const uint64_t caller = command.caller;
      line.Push(caller, std::move(command));
      ++accepted_;
      if (takes_commands_) Wake();
      return;
    }
  }
  command.done(refused, 0);
}

template <class State>
typename CommitQueue<State>::Commands CommitQueue<State>::Take(size_t most) {
  size_t spared = 0;
  if (!first_.empty() && !others_.empty()) {
    since_others_ += most;
    spared = std::min(since_others_ / (kFirstForEach + 1), others_.size());
    since_others_ %= kFirstForEach + 1;
  }
  Commands first = first_.Take(most - spared);
  Commands others = others_.Take(most - first.size());
  if (first.empty()) return others;
  // Mixed, since a batch may be too large for one transaction.
  Commands batch;
  batch.reserve(first.size() + others.size());
  auto next = first.begin();
  for (LaneCommand<State>& other : others) {
    for (size_t i = 0; i < kFirstForEach && next != first.end(); ++i, ++next)
      batch.push_back(std::move(*next));
    batch.push_back(std::move(other));
  }
  std::move(next, first.end(), std::back_inserter(batch));
  return batch;
}

template <class State>
void CommitQueue<State>::Poke() {
  MutexLock lock(mutex_);
  poked_ = true;
  Wake();
}

template <class State>
absl::Status CommitQueue<State>::Inspect(const std::function<void()>& inspection) {
  Inspection mine{&inspection};
  MutexLock lock(mutex_);
  if (stopping_) return error::Unavailable("The server stops.");
  if (inspection_ != nullptr) return error::Unavailable("Another comparison runs.");
  inspection_ = &mine;
  Wake();
  while (!mine.done) {
    if (stopping_ && inspection_ == &mine) {
      inspection_ = nullptr;
      return error::Unavailable("The server stops.");
    }
    inspected_.Wait(mutex_);
  }
  return absl::OkStatus();
}

template <class State>
void CommitQueue<State>::Fail(const absl::Status& status) {
  Commands failed;
  {
    MutexLock lock(mutex_);
    failed = Take(first_.size() + others_.size());
    accepted_ -= static_cast<int64_t>(failed.size());
  }
  for (LaneCommand<State>& command : failed) command.done(status, 0);
}

template <class State>
void CommitQueue<State>::CloseIntake() {
  MutexLock lock(mutex_);
  if (!std::exchange(intake_over_, true)) closing_ = true;
  Wake();
}

template <class State>
bool CommitQueue<State>::Stop() {
  MutexLock lock(mutex_);
  if (stopping_) return false;
  stopping_ = true;
  inspected_.SignalAll();
  Wake();
  return true;
}

template <class State>
bool CommitQueue<State>::Await(Work& work, size_t room, AwaitedSocket socket) {
  bool sleeps = false;
  {
    MutexLock lock(mutex_);
    sleeps = sleeping_ = !HasWork(room);
    takes_commands_ = room > 0;
  }
  const SocketEvents events = sleeps ? wakeup_.Wait(socket, options_.poll) : EventsOf(socket);
  work.answered = events.readable;
  MutexLock lock(mutex_);
  const bool in_vain = std::exchange(sleeping_, false) && !events.readable && !events.writable;
  if (stopping_) return false;
  work.batch = Take(room);
  work.inspection = nullptr;
  if (Inspection* const next = std::exchange(inspection_, nullptr)) {
    work.inspection = [this, next] {
      (*next->run)();
      MutexLock end(mutex_);
      next->done = true;
      inspected_.SignalAll();
    };
  }
  work.closed = std::exchange(closing_, false);
  work.look = std::exchange(poked_, false) || in_vain;
  return true;
}

}  // namespace muster::storage
