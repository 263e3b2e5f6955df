#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "services/common/cpu_share.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"

namespace muster {

// One who waits for the answer of a run.
template <class Answer>
struct RunAsker {
  std::function<bool()> gone = {};  // whether it does not wait any more; null: it always waits
  // Called once; not at all if all askers of its run were gone when the run was to begin.
  absl::AnyInvocable<void(const Answer&)> done = {};
};

// Makes expensive runs, one at a time on a thread of its own, each for all who asked the same
// question before it began. Thread-safe.
template <class Question, class Answer>
class SharedRuns {
 public:
  using Asker = RunAsker<Answer>;
  static constexpr size_t kMostRuns = 4;
  // `abandoned()`: whether nobody waits for this run any more.
  using Run = std::function<Answer(const Question&, absl::FunctionRef<bool()> abandoned)>;

  // At most `most` askers may wait, for at most kMostRuns runs. `cpu`: of all slow work of the
  // process; null: no rest between runs.
  SharedRuns(Run run, size_t most, std::shared_ptr<CpuShare> cpu = {})
      : run_(std::move(run)), most_(most), cpu_(std::move(cpu)), thread_([this] { Work(); }) {}
  ~SharedRuns() { Stop(); }

  // False, and `asker` is left as it is: too many wait, or it is stopping.
  bool Ask(const Question& question, Asker&& asker) {
    MutexLock lock(mutex_);
    if (stopping_ || waiting_ >= most_) return false;
    auto run = std::find_if(runs_.begin(), runs_.end(),
                            [&](const Waiting& other) { return other.question == question; });
    if (run == runs_.end()) {
      if (runs_.size() == kMostRuns) return false;
      run = runs_.insert(runs_.end(), {question, {}});
    }
    ++waiting_;
    run->askers.push_back(std::move(asker));
    wakes_.Signal();
    return true;
  }

  // Waits for the run that is under way; returns those who waited for later ones. Idempotent.
  std::vector<Asker> Stop() {
    std::vector<Asker> left;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      for (Waiting& run : runs_)
        for (Asker& asker : run.askers) left.push_back(std::move(asker));
      runs_.clear();
      wakes_.Signal();
    }
    if (thread_.joinable()) thread_.join();
    return left;
  }

 private:
  struct Waiting {
    Question question;
    std::vector<Asker> askers;
  };

  void Work() {
    while (true) {
      std::vector<Waiting> next;
      {
        MutexLock lock(mutex_);
        while (runs_.empty() && !stopping_) wakes_.Wait(mutex_);
        if (stopping_) return;
        next.push_back(std::move(runs_.front()));
        runs_.pop_front();
        waiting_ -= next.front().askers.size();
      }
      CpuStretch stretch(cpu_.get());
      Serve(next.front());
      stretch.EndWork();
      if (cpu_ != nullptr) stretch.Rest([this](absl::Duration pause) { Wait(pause); });
    }
  }

  void Wait(absl::Duration pause) {
    const Deadline end(pause);
    MutexLock lock(mutex_);
    while (!stopping_ && end.WaitFor(wakes_, mutex_)) {
    }
  }

  void Serve(Waiting& next) {
    const auto abandoned = [&next] {
      return std::all_of(next.askers.begin(), next.askers.end(),
                         [](const Asker& asker) { return asker.gone && asker.gone(); });
    };
    if (abandoned()) return;
    const Answer answer = run_(next.question, abandoned);
    for (Asker& asker : next.askers) asker.done(answer);
  }

  const Run run_;
  const size_t most_;
  const std::shared_ptr<CpuShare> cpu_;
  Mutex mutex_;
  CondVar wakes_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::deque<Waiting> runs_ MUSTER_GUARDED_BY(mutex_);
  size_t waiting_ MUSTER_GUARDED_BY(mutex_) = 0;  // askers of them all
  std::thread thread_;
};

}  // namespace muster
