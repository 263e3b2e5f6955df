#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/cause.h"
#include "services/common/log.h"
#include "services/common/state.h"
#include "services/common/worker_signal.h"
#include "services/trace/span.h"

namespace muster::rpc {

// Work on a State that becomes due because time has passed.
template <class State>
struct DueWork {
  std::string name = {};  // of its spans
  // Whether `next` may be earlier after this change.
  std::function<bool(const typename State::Change&)> concerns = {};
  // When something becomes due next; InfiniteFuture: never. What became due at `done` or before has
  // been done, and may be left out.
  std::function<absl::Time(const State&, absl::Time done)> next = {};
  // Does what is due at `now`. Returns how many changes it made.
  std::function<size_t(StagedState<State>&, absl::Time now)> decide = {};
};

// A thread that sleeps until something is due, then submits a command that does it, so that
// watchers hear of it. What is due follows from the rows: a restart loses nothing, and of several
// replicas the first one writes. A Lane is a storage::CommitLane<State>.
template <class Lane, class State>
class DueTimer {
 public:
  // To be made before the lane's first Submit. The lane must outlive it.
  DueTimer(Lane* lane, DueWork<State> work)
      : lane_(*lane),
        work_(std::make_shared<const DueWork<State>>(std::move(work))),
        signal_(std::make_shared<WorkerSignal>()) {
    using Changes = absl::Span<const Revised<typename State::Change>>;
    lane_.Subscribe([work = work_, signal = signal_](Changes changes) {
      const auto concerns = [&](const auto& change) { return work->concerns(change.change); };
      if (changes.empty() || std::any_of(changes.begin(), changes.end(), concerns)) signal->Wake();
    });
    thread_ = std::thread([this] { Run(); });
  }
  // Ends the thread.
  ~DueTimer() {
    signal_->Stop();
    thread_.join();
  }
  DueTimer(const DueTimer&) = delete;
  DueTimer& operator=(const DueTimer&) = delete;

 private:
  // How often the clock is looked at while something is to come: it may be set, or stand still.
  static constexpr absl::Duration kTick = absl::Milliseconds(200);

  struct Outcome {
    size_t changed = 0;
    absl::Time now = absl::InfinitePast();
  };

  void Run() {
    absl::Duration wait = absl::ZeroDuration();
    while (signal_->Wait(wait)) {
      const absl::Time next = Next();
      const absl::Time now = lane_.clock().Now();
      if (next == absl::InfiniteFuture()) {
        wait = absl::InfiniteDuration();
      } else if (next > now) {
        wait = std::min(next - now, kTick);
      } else {
        wait = SeeToDue() ? absl::ZeroDuration() : kTick;
      }
    }
  }

  absl::Time Next() {
    return lane_.PeekAt([this](const State& state, const auto& at) {
      // In another history nothing was done yet.
      if (std::exchange(incarnation_, at.incarnation) != at.incarnation)
        done_ = absl::InfinitePast();
      return work_->next(state, done_);
    });
  }

  // Submits the command and waits for it. False: nothing was written, or it failed.
  bool SeeToDue() {
    const trace::Work span(work_->name);
    auto outcome = std::make_shared<Outcome>();
    lane_.Submit(
        [work = work_, outcome](StagedState<State>& staged, absl::Time now) {
          *outcome = {work->decide(staged, now), now};
          return absl::OkStatus();
        },
        [work = work_, signal = signal_](const absl::Status& status, int64_t) {
          if (!status.ok() && !absl::IsUnavailable(status))
            log::Warn("what is due could not be seen to",
                      {{"work", work->name}, {"error", error::ForOperators(status)}});
          signal->JobDone(status.ok());
        });
    if (!signal_->AwaitJob()) return false;
    done_ = outcome->now;
    return outcome->changed > 0;
  }

  Lane& lane_;
  // Shared with the lane's subscription and with answers that come late.
  const std::shared_ptr<const DueWork<State>> work_;
  const std::shared_ptr<WorkerSignal> signal_;
  std::string incarnation_;                 // of the history in which
  absl::Time done_ = absl::InfinitePast();  // what was due then or before was seen to
  std::thread thread_;
};

}  // namespace muster::rpc
