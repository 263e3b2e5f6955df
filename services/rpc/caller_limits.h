#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/pace.h"
#include "services/common/steady_clock.h"
#include "services/rpc/limits.h"
#include "services/rpc/sweep.h"

namespace muster::rpc {

// How much of a server one caller may take, whatever the others do.
struct CallerLimitOptions {
  int64_t calls = kMaxCallsOfACaller;      // unary, that are not answered yet
  int64_t watches = kMaxWatchesOfACaller;  // open at a time
  // Of `calls`, while others call, too; the rest waits in line.
  int64_t running_calls = kMaxRunningCallsOfACaller;
  double calls_per_second =
      0;  // unary and watches begun, on average; twice that at once; 0: any number
  double changes_per_minute = kMaxChangesPerMinute;  // of one account: ChangeLimits
};

// What each caller has under way, and which of its calls come next. Thread-safe.
//
// gRPC takes in what comes on all connections one after the other, and answers so: a call waits behind all that are taken in before it,
// whosesoever. So that one caller with thousands of calls does not hold up the others, few of them are at work at a time, and the rest
// waits here, where it costs nobody anything. Who is alone has the server for itself.
class CallerLimits {
 public:
  enum class Kind { kCall, kWatch };
  class CallInLine;

 private:
  struct Use;
  static constexpr int64_t kNotBegun = -1;

 public:
  explicit CallerLimits(const CallerLimitOptions& options,
                        const SteadyClock* clock = TheSteadyClock())
      : options_(options), clock_(*clock) {}

  // A place among what its caller has under way, which it gives back when it goes.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept;
    ~Place() { GiveBack(); }

   private:
    friend class CallerLimits;
    Place(CallerLimits* limits, std::shared_ptr<Use> use, Kind kind)
        : limits_(limits), use_(std::move(use)), kind_(kind) {}
    void GiveBack();

    CallerLimits* limits_ = nullptr;
    std::shared_ptr<Use> use_;  // null: none
    Kind kind_ = Kind::kCall;
    int64_t begun_ = kNotBegun;  // in which period
  };

  // A call that waits for its turn.
  class CallInLine {
    using Line = std::list<std::shared_ptr<CallInLine>>;

   public:
    CallInLine() = default;
    CallInLine(const CallInLine&) = delete;
    CallInLine& operator=(const CallInLine&) = delete;
    virtual ~CallInLine() = default;

    // Its turn has come. Called once, without locks, on a thread that gives a place back, or in Wait. Does not throw.
    virtual void Start() = 0;

    // One that Begin left; Start takes it.
    Place place;

   private:
    friend class CallerLimits;
    // Made with the call: to stand in line takes no memory, so that it cannot fail.
    Line node_ = Line(1);
    Line::iterator at_;
    bool waits_ = false;
  };

  // RESOURCE_EXHAUSTED (TOO_MANY_CALLS, TOO_MANY_WATCHES, TOO_FAST) with a time to wait. The limits must outlive the place.
  absl::StatusOr<Place> Enter(absl::string_view principal, Kind kind);
  // Of a call that is let in: false if it is not its turn, then Wait.
  bool Begin(Place& place);
  // Starts `call` once those before it have gone, or have been at work for long; perhaps at once.
  void Wait(std::shared_ptr<CallInLine> call);
  // Starts whose turn has come since others have been at work for long. To be called every now and then for who waits; false: it does not.
  bool Nudge(CallInLine& call);
  bool IsWaiting(const CallInLine& call) const;
  // False: it does not wait. Else it is not started any more, and its place goes with it.
  bool GiveUp(CallInLine& call);

  struct Stats {
    int64_t too_many_calls = 0;
    int64_t too_many_watches = 0;
    int64_t too_fast = 0;
  };
  Stats stats() const;
  // Callers that are remembered.
  size_t size() const;
  // Calls that wait in line.
  int64_t waiting() const;

 private:
  using Line = CallInLine::Line;

  // Of one caller.
  struct Use {
    std::string principal = {};
    int64_t calls = 0;
    int64_t watches = 0;
    int64_t period = 0;   // the last that was looked at
    int64_t running = 0;  // calls that were begun in it and are not over
    int64_t before = 0;   // in the one before it
    Line line = {};       // those that wait, in the order in which they came
    Pace pace = {};       // of its calls
  };

  // What is wrong with one more.
  absl::Status Check(const Use& use, Kind kind, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const std::shared_ptr<Use>& use, Kind kind, int64_t begun);
  // Of a caller's calls, those that were begun of late. What is at work for longer waits for the database, or for a caller who does not
  // read its answer: it holds nobody up, and so none of its caller's other calls either.
  static int64_t Running(Use& use, absl::Duration now);
  static void CountBegun(Use& use, Place& place);
  // Of one caller's calls; as many as it likes while nobody else calls.
  int64_t MostRunning(absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out of the line whose turn has come.
  Line TakeTurns(Use& use, absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without the lock. What they give back meanwhile is taken up by the same loop, however long the line.
  static void StartThem(Line turns);
  // A caller that has nothing under way, and could call as often as one that is not known.
  bool IsIdle(const Use& use, absl::Duration now) const {
    return use.calls == 0 && use.watches == 0 && use.pace.IsIdle(now);
  }

  const CallerLimitOptions options_;
  const SteadyClock& clock_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Use>> uses_ MUSTER_GUARDED_BY(mutex_);
  size_t sweep_at_ MUSTER_GUARDED_BY(mutex_) = kSweepAtLeast;
  Stats stats_ MUSTER_GUARDED_BY(mutex_);
  int64_t waiting_ MUSTER_GUARDED_BY(mutex_) = 0;
  // By hash: who called last, and until when there are others beside whoever calls.
  size_t last_caller_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::Duration shared_until_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace muster::rpc
