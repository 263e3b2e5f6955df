#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// Counts the Nodes that a plan neither changes nor mentions, nearly all of a large pool: in
// production as they should be, or on their way there and in good time. None of them is unhealthy,
// marked, leaving, out of service or not held by the claim.
class QuietNodes {
 public:
  // How many were seen to run this profile; empty: Nodes that were not seen to run any.
  struct OnProfile {
    std::string node_profile = {};
    int64_t in_service = 0;
    int64_t present = 0;          // IsPresent
    int64_t present_to_come = 0;  // of these: not in service
  };

  // `times`: 1, or -1 for a Node that was added before and is not quiet any more.
  void Add(const Node& node, int64_t times = 1);
  // One of them has to be looked at at `at`.
  void MoveDue(absl::Time at) { due_ = std::min(due_, at); }

  int64_t size() const { return size_; }
  int64_t in_production() const { return in_production_; }
  int64_t in_progress() const { return in_progress_; }
  int64_t in_service() const { return size_ - in_progress_; }
  int64_t present() const;
  int64_t InServiceOn(const std::string& node_profile) const;
  int64_t PresentOn(const std::string& node_profile) const;
  const std::vector<OnProfile>& profiles() const { return profiles_; }
  // kNever: time makes none of them need a look.
  absl::Time due() const { return due_; }

 private:
  OnProfile& Of(const std::string& node_profile);
  const OnProfile* Find(const std::string& node_profile) const;

  int64_t size_ = 0;
  int64_t in_production_ = 0;
  int64_t in_progress_ = 0;
  std::vector<OnProfile> profiles_;  // few
  size_t last_ = 0;                  // the one that was found last
  absl::Time due_ = kNever;
};

// True when `after` instead of `before` changes nothing of a plan that only counts the Node, nor of
// what is asked for its pool: it differs in its work, in whether something else takes new Pods away
// from it, or in how far it has come before it registers. False when in doubt.
bool CountsTheSame(const Node& before, const Node& after);

}  // namespace muster::lifecycle
