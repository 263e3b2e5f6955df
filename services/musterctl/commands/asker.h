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

// A pool that is to be explained, as it was looked at.
struct Question {
  std::string pool = {};
  std::string status = {};  // its bytes
  size_t cell = 0;          // whose, by its number
};

// Of what is in the way of the pool the first that somebody must do something about; else what passes first. nullopt: nobody answers.
std::optional<top::Verdict> AskWhoMustAct(FleetLink& link, const std::string& pool);
// nullopt: nobody answers, or the caller may not know.
std::optional<top::Reconciler> AskReconciler(FleetLink& link);

// Asks who must act for the pools of one cell that are looked at, and who reconciles there, by a thread of its own: the page waits for
// no answer. Thread-safe.
class Asker {
 public:
  // Both must outlive it.
  Asker(FleetLink& link, const SteadyClock& clock);
  // The link was stopped before: no question is under way for long.
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // Only these from now on. The answers there are, by pool.
  std::map<std::string, top::Verdict> Want(std::vector<Question> questions);
  // As of the last answer.
  std::optional<top::Reconciler> reconciler() const;

 private:
  struct Known {
    std::string status = {};
    absl::Duration time = {};
    std::optional<top::Verdict> verdict = {};
  };

  std::vector<Question> Due() const;
  // What was known stands where nobody answers.
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
