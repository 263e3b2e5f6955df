#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

// What committed changes of rows show to have happened, for the metrics. Pure; equal rows show
// nothing.
namespace muster::lifecycle {

enum class PreemptionPhase {
  kPending,    // it was warned
  kDraining,   // its work is asked to leave
  kDone,       // it is gone
  kCancelled,  // it stays, or leaves for another reason
};
inline constexpr int kPreemptionPhases = 4;
absl::string_view PreemptionPhaseName(PreemptionPhase phase);

enum class RebootStep { kStarted, kCompleted, kFailed };
inline constexpr int kRebootSteps = 3;
absl::string_view RebootStepName(RebootStep step);

struct NodeHappening {
  bool moved = false;  // to another state
  // In service for the first time: since its machine was asked for (where that is known), since it was granted, and since it was
  // told to boot.
  std::optional<absl::Duration> obtained = {};
  std::optional<absl::Duration> delivered = {};
  std::optional<absl::Duration> booted = {};
  // In service again: since it was told to reboot.
  std::optional<absl::Duration> rebooted = {};
  // Its work has left, or its time is over: since it was asked to.
  std::optional<absl::Duration> drained = {};
  // It is gone: since it was warned.
  std::optional<absl::Duration> preempted = {};
  std::vector<PreemptionPhase> preemption = {};
  std::optional<RebootStep> reboot = {};
  bool boot_failed = false;  // in the state that it was in
};

NodeHappening HappenedTo(const Node& before, const Node& after);

// How long pools are under their targets, from the changes of their rows; of those that were seen
// to come under it. Not thread-safe.
class TimesToTarget {
 public:
  // Takes in a change at `now`; `after`: null when the pool is gone. How long it was under its
  // target, if it met it now.
  std::optional<absl::Duration> Follow(const Pool& before, const Pool* after, absl::Time now);
  // Changes were missed.
  void Forget() { since_.clear(); }
  size_t size() const { return since_.size(); }

 private:
  absl::flat_hash_map<std::string, absl::Time> since_;  // by uid
};

}  // namespace muster::lifecycle
