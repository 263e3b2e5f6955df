#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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
  double calls_per_second =
      0;  // unary and watches begun, on average; twice that at once; 0: any number
  double changes_per_minute = kMaxChangesPerMinute;  // of one account: ChangeLimits
};

// What each caller has under way. Thread-safe.
class CallerLimits {
 public:
  enum class Kind { kCall, kWatch };

 private:
  struct Use;

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
  };

  // RESOURCE_EXHAUSTED (TOO_MANY_CALLS, TOO_MANY_WATCHES, TOO_FAST) with a time to wait. The limits must outlive the place.
  absl::StatusOr<Place> Enter(absl::string_view principal, Kind kind);

  struct Stats {
    int64_t too_many_calls = 0;
    int64_t too_many_watches = 0;
    int64_t too_fast = 0;
  };
  Stats stats() const;
  // Callers that are remembered.
  size_t size() const;

 private:
  // Of one caller.
  struct Use {
    std::string principal = {};
    int64_t calls = 0;
    int64_t watches = 0;
    Pace pace = {};  // of its calls
  };

  // What is wrong with one more.
  absl::Status Check(const Use& use, Kind kind, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const std::shared_ptr<Use>& use, Kind kind);
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
};

}  // namespace muster::rpc
