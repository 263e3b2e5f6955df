#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "services/common/mutex.h"
#include "storage/postgres/commit_queue.h"

namespace muster::storage {

// Tells callers what came of their commands, on a thread of its own: meanwhile the lane is at its
// next batch. Thread-safe.
template <class State>
class AnswerQueue {
 public:
  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  // Takes commands that were committed, or failed, together. Where `status` is OK, each is told
  // what its decision said.
  void Add(absl::Span<LaneCommand<State>> batch, const absl::Status& status, int64_t shown);
  // To be called after the last Add; ends the thread once all are told.
  void Finish();

 private:
  struct Answered {
    std::vector<LaneCommand<State>> batch;
    absl::Status status;
    int64_t shown = 0;
  };

  void Run();

  Mutex mutex_;
  CondVar wakes_;
  std::deque<Answered> answers_ MUSTER_GUARDED_BY(mutex_);
  bool no_more_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

template <class State>
void AnswerQueue<State>::Add(absl::Span<LaneCommand<State>> batch, const absl::Status& status,
                             int64_t shown) {
  std::vector<LaneCommand<State>> commands(std::make_move_iterator(batch.begin()),
                                           std::make_move_iterator(batch.end()));
  MutexLock lock(mutex_);
  answers_.push_back({std::move(commands), status, shown});
  wakes_.Signal();
}

template <class State>
void AnswerQueue<State>::Finish() {
  {
    MutexLock lock(mutex_);
    no_more_ = true;
    wakes_.Signal();
  }
  if (thread_.joinable()) thread_.join();
}

template <class State>
void AnswerQueue<State>::Run() {
  while (true) {
    std::deque<Answered> answers;
    {
      MutexLock lock(mutex_);
      while (answers_.empty() && !no_more_) wakes_.Wait(mutex_);
      if (answers_.empty()) return;
      answers.swap(answers_);
    }
    for (Answered& answered : answers) {
      const absl::Status& status = answered.status;
      for (LaneCommand<State>& command : answered.batch)
        command.done(status.ok() ? command.status : status, answered.shown);
    }
  }
}

}  // namespace muster::storage
