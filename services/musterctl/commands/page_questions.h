#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/common/stopper.h"
#include "services/musterctl/client/fleet_link.h"
#include "services/musterctl/top/view.h"

// What the page of `top` asks beside what watches tell.
namespace muster::musterctl {

// A pool that is to be explained.
struct Question {
  std::string pool = {};
  std::string status = {};  // the pool's status, serialized: another one is asked about anew
  size_t cell = 0;          // number of the cell that has the pool
};

// The pool's first obstacle about which somebody must act; if there is none, its first obstacle.
// nullopt: no answer.
std::optional<top::Verdict> AskWhoMustAct(FleetLink& link, const std::string& pool);
// The replica that reconciles. nullopt: no answer, or the caller may not see it.
std::optional<top::Reconciler> AskReconciler(FleetLink& link);

// Asks, on a thread of its own, who must act for those pools of one cell that the page shows, and
// who reconciles there: the page never waits for an answer. Thread-safe.
class PageQuestions {
 public:
  // Both must outlive it.
  PageQuestions(FleetLink& link, const SteadyClock& clock);
  // Waits for the question under way: stop the link first, so that this is not long.
  ~PageQuestions();
  PageQuestions(const PageQuestions&) = delete;
  PageQuestions& operator=(const PageQuestions&) = delete;

  // Asks only these questions from now on. Returns the answers known so far, by pool.
  std::map<std::string, top::Verdict> Want(std::vector<Question> questions);
  // As of the last time it was asked; nullopt: not asked yet, or there was no answer.
  std::optional<top::Reconciler> reconciler() const;

 private:
  struct Known {
    std::string status = {};
    absl::Duration time = {};
    std::optional<top::Verdict> verdict = {};
  };

  std::vector<Question> Due() const;
  // Keeps an answer; if there was none (nullopt) the earlier one stays.
  void Answer(const Question& question, std::optional<top::Verdict> verdict);
  bool IsLeaderDue();
  void KeepLeader(std::optional<top::Reconciler> leader);

  FleetLink& link_;
  const SteadyClock& clock_;
  mutable Mutex mutex_;
  absl::Duration leader_asked_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  std::optional<top::Reconciler> reconciler_ MUSTER_GUARDED_BY(mutex_);
  std::vector<Question> wanted_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, Known> known_ MUSTER_GUARDED_BY(mutex_);
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::musterctl
