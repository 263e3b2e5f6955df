#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// Nodes of a pool that a plan neither changes nor says anything of, as nearly all of a large pool
// are: in service as they should be, or on their way into it and in good time. They are only
// counted. None of them is unhealthy, marked, leaving, out of service or not held by the claim.
class QuietNodes {
 public:
  // Of those that were seen to run a profile; empty: that none was seen.
  struct OnProfile {
    std::string node_profile = {};
    int64_t in_service = 0;
    int64_t present = 0;          // IsPresent
    int64_t present_to_come = 0;  // of these: not in service
  };

  // `times`: 1, or -1 of one that was added before and is quiet no more.
  void Add(const Node& node, int64_t times = 1);
  // The next one is due for a look at `at`.
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

}  // namespace muster::lifecycle
