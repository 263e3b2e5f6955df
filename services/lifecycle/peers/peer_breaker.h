#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"

namespace muster::lifecycle {

// Keeps a service that does not answer from costing every pass of the loop a timeout. Thread-safe.
//
//           kTimeoutsToOpen in a row           kProbeEvery later, one probe
//   CLOSED ---------------------------> OPEN -----------------------------> HALF_OPEN
//     ^                                  ^                                   |     |
//     |                                  +------ the probe timed out --------+     |
//     +------------------------------- the probe was answered ---------------------+
//
// Only silence opens it; an error that says that the service is away comes at once and costs no
// time. But pools that got no answer, for whatever reason, are told once there are answers again,
// which a probe finds out within kProbeEvery.
class PeerBreaker {
 public:
  enum class State { kClosed, kOpen, kHalfOpen };
  static constexpr int kStates = 3;
  // How a call ended: answered, a refusal of what was asked being an answer, too; with an error
  // that says that the service is away or refuses us altogether; not in time.
  enum class Outcome { kAnswered, kAway, kSilent };
  // Calls in a row that were not answered in time.
  static constexpr int kTimeoutsToOpen = 2;
  static constexpr absl::Duration kProbeEvery = absl::Seconds(1);
  // Called once the service answers again, with the pools that got no answer meanwhile.
  using OnBack = std::function<void(const std::set<std::string>& pools)>;

  PeerBreaker(std::string peer, const SteadyClock* clock, OnBack on_back)
      : peer_(std::move(peer)), clock_(*clock), on_back_(std::move(on_back)) {}

  const std::string& peer() const { return peer_; }
  State state() const {
    MutexLock lock(mutex_);
    return state_;
  }

  // How many pools got no answer since the service last answered.
  size_t unanswered() const {
    MutexLock lock(mutex_);
    return unanswered_.size();
  }

  // False: do not ask now, the pools are told that the service is away.
  bool MayAsk(const std::vector<std::string>& pools) {
    MutexLock lock(mutex_);
    if (state_ == State::kClosed) return true;
    unanswered_.insert(pools.begin(), pools.end());
    return false;
  }
  // Begins anew: closed, and nobody is to be told.
  void Forget() {
    MutexLock lock(mutex_);
    state_ = State::kClosed;
    timeouts_ = 0;
    unanswered_.clear();
  }
  // True: the caller is to send a probe and then to call ProbeEnded.
  bool BeginProbe() {
    MutexLock lock(mutex_);
    const bool wanted = state_ == State::kOpen || !unanswered_.empty();
    if (!wanted || probing_ || clock_.Now() < probe_at_) return false;
    probing_ = true;
    if (state_ == State::kOpen) state_ = State::kHalfOpen;
    return true;
  }
  void ProbeEnded(Outcome outcome) {
    {
      MutexLock lock(mutex_);
      probing_ = false;
    }
    Ended(outcome, {});
  }

  // A call about these pools ended.
  void Ended(Outcome outcome, const std::vector<std::string>& pools) {
    std::set<std::string> back;
    {
      MutexLock lock(mutex_);
      if (outcome == Outcome::kAnswered) {
        back.swap(unanswered_);
      } else {
        unanswered_.insert(pools.begin(), pools.end());
        probe_at_ = clock_.Now() + kProbeEvery;
      }
      if (outcome != Outcome::kSilent) {
        timeouts_ = 0;
        state_ = State::kClosed;
      } else if (++timeouts_ >= kTimeoutsToOpen) {
        state_ = State::kOpen;
      }
    }
    if (!back.empty()) on_back_(back);
  }

 private:
  const std::string peer_;
  const SteadyClock& clock_;
  const OnBack on_back_;
  mutable Mutex mutex_;
  State state_ MUSTER_GUARDED_BY(mutex_) = State::kClosed;
  int timeouts_ MUSTER_GUARDED_BY(mutex_) = 0;
  absl::Duration probe_at_ MUSTER_GUARDED_BY(mutex_);
  bool probing_ MUSTER_GUARDED_BY(mutex_) = false;
  std::set<std::string> unanswered_ MUSTER_GUARDED_BY(mutex_);
};

// As in the metric: `half_open`.
inline absl::string_view PeerBreakerStateName(PeerBreaker::State state) {
  switch (state) {
    case PeerBreaker::State::kClosed:
      return "closed";
    case PeerBreaker::State::kOpen:
      return "open";
    case PeerBreaker::State::kHalfOpen:
      return "half_open";
  }
  return "";
}

}  // namespace muster::lifecycle
