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
  // Set when the Node came into production for the first time: the time since its machine was
  // requested (if that is known), since the machine was granted, and since the order to boot.
  std::optional<absl::Duration> obtained = {};
  std::optional<absl::Duration> delivered = {};
  std::optional<absl::Duration> booted = {};
  // Set when a reboot ended well: the time since the order to reboot.
  std::optional<absl::Duration> rebooted = {};
  // Set when a drain ended, done or cut off: the time since it began.
  std::optional<absl::Duration> drained = {};
  // Set when a preempted Node is gone: the time since its warning.
  std::optional<absl::Duration> preempted = {};
  std::vector<PreemptionPhase> preemption = {};
  std::optional<RebootStep> reboot = {};
  bool boot_failed = false;  // in the state that `before` is in
};

NodeHappening HappenedTo(const Node& before, const Node& after);

// Measures, from the changes of their rows, how long pools are under their targets. A pool that was
// under its target before its changes were followed is not measured. Not thread-safe.
class TimesToTarget {
 public:
  // Takes in a change at `now`; `after`: null when the pool is gone. Returns how long the pool was
  // under its target if it reaches the target by this change.
  std::optional<absl::Duration> Follow(const Pool& before, const Pool* after, absl::Time now);
  // To be called when changes were missed: all measurements begin anew.
  void Forget() { since_.clear(); }
  size_t size() const { return since_.size(); }

 private:
  absl::flat_hash_map<std::string, absl::Time> since_;  // by uid
};

}  // namespace muster::lifecycle
