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

// How much of a server one caller may take, whatever the others do, and how many watches all may.
struct CallerLimitOptions {
  int64_t calls = kMaxCallsOfACaller;      // unary, that are not answered yet
  int64_t watches = kMaxWatchesOfACaller;  // open at a time
  int64_t all_watches = kMaxWatches;       // likewise, of all callers
  // Those of `calls` that may be at work while others call, too; the rest waits in line.
  int64_t running_calls = kMaxRunningCallsOfACaller;
  // Of the requests of `calls` and `watches` together; one that is under way alone may have any
  // number.
  int64_t request_bytes = kMaxRequestBytesOfACaller;
  double calls_per_second =
      0;  // unary and watches begun, on average; twice that at once; 0: any number
  double changes_per_minute = kMaxChangesPerMinute;  // of one account: ChangeLimits
};

// What each caller has under way, and which of its calls come next. Thread-safe.
//
// gRPC serves the calls of all connections in the order in which they arrive. So that one caller
// with thousands of calls does not hold up the others, only few of its calls are at work at a time;
// the rest waits here, where it costs nobody anything. A caller that is alone has the server for
// itself.
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

  // Counts as one of the calls or watches that its caller has under way, with its request, until it
  // is destroyed.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept;
    ~Place() { GiveBack(); }

   private:
    friend class CallerLimits;
    Place(CallerLimits* limits, std::shared_ptr<Use> use, Kind kind, int64_t request_bytes)
        : limits_(limits), use_(std::move(use)), kind_(kind), request_bytes_(request_bytes) {}
    void GiveBack();

    CallerLimits* limits_ = nullptr;
    std::shared_ptr<Use> use_;  // null: none
    Kind kind_ = Kind::kCall;
    int64_t request_bytes_ = 0;
    int64_t begun_ = kNotBegun;  // the period in which the call was begun
  };

  // A call that waits for its turn.
  class CallInLine {
    using Line = std::list<std::shared_ptr<CallInLine>>;

   public:
    CallInLine() = default;
    CallInLine(const CallInLine&) = delete;
    CallInLine& operator=(const CallInLine&) = delete;
    virtual ~CallInLine() = default;

    // Its turn has come. Called once, without locks, on a thread that gives a place back, or in
    // Wait. Does not throw.
    virtual void Start() = 0;

    // The place of the call, for which Begin returned false; Start takes it over.
    Place place;

   private:
    friend class CallerLimits;
    // Made with the call: to stand in line takes no memory, so that it cannot fail.
    Line node_ = Line(1);
    Line::iterator at_;
    bool waits_ = false;
  };

  // Lets a call or watch in, whose request has so many bytes. RESOURCE_EXHAUSTED (TOO_MANY_CALLS,
  // TOO_MANY_WATCHES, TOO_FAST), with a time to wait. Must outlive the place.
  absl::StatusOr<Place> Enter(absl::string_view principal, Kind kind, int64_t request_bytes = 0);
  // For a call that is let in: whether it may begin now; if not, Wait is to be called.
  bool Begin(Place& place);
  // Starts `call` once those before it have gone, or have been at work for long; perhaps at once.
  void Wait(std::shared_ptr<CallInLine> call);
  // Starts the calls of its caller whose turn has come because others have been at work for long.
  // To be called now and then for a call that waits; false: it does not wait any more.
  bool Nudge(CallInLine& call);
  bool IsWaiting(const CallInLine& call) const;
  // Takes `call` out of the line: it is not started any more, and its place goes with it. False: it
  // does not wait.
  bool GiveUp(CallInLine& call);

  struct Stats {
    int64_t too_many_calls = 0;
    int64_t too_many_watches = 0;
    int64_t too_many_bytes = 0;
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
    int64_t request_bytes = 0;  // of them all
    int64_t period = 0;         // the last that was looked at
    int64_t running = 0;        // calls that were begun in it and are not over
    int64_t before = 0;         // in the one before it
    Line line = {};             // those that wait, in the order in which they came
    Pace pace = {};             // of its calls
  };

  // Why one more is refused; OK: it is not.
  absl::Status Check(const Use& use, Kind kind, int64_t request_bytes, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckBytes(const Use& use, Kind kind, int64_t request_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const std::shared_ptr<Use>& use, const Place& place);
  // How many of a caller's calls are at work, of those begun lately. One that is at work for longer
  // waits for the database, or for a caller that does not read its answer: it holds nobody up, and
  // need not hold up its caller's other calls.
  static int64_t Running(Use& use, absl::Duration now);
  static void CountBegun(Use& use, Place& place);
  // How many calls of one caller may be at work; any number while nobody else calls.
  int64_t MostRunning(absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the calls whose turn has come out of the line.
  Line TakeTurns(Use& use, absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To be called without the lock. Places that they give back meanwhile are passed on by the same
  // loop, not by recursion, however long the line is.
  static void StartThem(Line turns);
  // Whether a caller has nothing under way and could call as often as one that is not remembered.
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
  int64_t watches_ MUSTER_GUARDED_BY(mutex_) = 0;  // of all callers
  // The hash of the last caller's name, and until when several callers are taken to share the
  // server.
  size_t last_caller_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::Duration shared_until_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace muster::rpc
