#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/objects.h"

namespace muster::kubernetes {

// How one Pod is asked to leave.
enum class EvictionMode {
  kAtOnce,    // delete, one second to go
  kGraceful,  // delete with its own grace period
  kInTime,    // delete with the grace that is left until the drain's deadline
  kEvict,     // through the Eviction API, which disruption budgets may refuse
  kForce,     // delete without waiting for its kubelet
};

struct PodEviction {
  EvictionMode mode = EvictionMode::kEvict;
  const PodObject* pod = nullptr;
  int64_t grace_seconds = 0;  // for kInTime
};

// For how long a Node has been drained. A drain that begins between two looks is timed by the
// steady clock: our time of day may be ahead of Muster's, which would cut the Pods' grace short. A
// drain that is under way at the first look is timed until then by the time of day: nothing else
// tells.
class DrainTimer {
 public:
  // To be called with the Node whenever it may have changed. `steady`: of a SteadyClock.
  void Look(const lifecycle::v1::Node& node, absl::Time now, absl::Duration steady);
  // At least zero; means nothing for a Node that is not being drained.
  absl::Duration Since(absl::Duration steady) const { return steady - began_; }

 private:
  std::optional<absl::Time> drain_time_ = {};  // as Muster has it; nullopt: not looked at yet
  absl::Duration began_ = absl::ZeroDuration();
};

// Which Pods of a Node that is to be drained are asked to leave, and how: interruptable ones first
// and at once, graceful ones with their grace period, all others by eviction. For a preemption, of
// which they were warned, all alike with the time that is left, budgets or not: the machine leaves
// anyway. When forced, whatever is left by force, those too that are leaving already. DaemonSets'
// and mirror Pods, and those that have finished, stay. `asked`: uids of Pods that were asked
// already; they are asked again by force only. `drained`: for how long (DrainTimer). The pointers
// are into `pods`.
std::vector<PodEviction> PlanDrain(const lifecycle::v1::Node& node,
                                   const std::vector<PodObject>& pods,
                                   const absl::flat_hash_set<std::string>& asked,
                                   absl::Duration drained);

// When a Pod is asked again that could not be asked to leave, or that is being forced out.
struct EvictionRetry {
  EvictionMode mode = EvictionMode::kEvict;         // how it was asked
  absl::Duration time = -absl::InfiniteDuration();  // of a steady clock
  // What the server last said of the disruption budget; empty: something else refuses.
  std::string budget = {};
};
using EvictionRetries = absl::flat_hash_map<std::string, EvictionRetry>;  // by Pods' uids

// How long a turn of a drain may take: whoever waits for a slow API server serves no other Node
// meanwhile. The request under way may take longer.
inline constexpr absl::Duration kDrainTurn = absl::Seconds(5);

// Whom a drain asks in one turn. What does not fit in is left to the Node's next one.
struct DrainTurn {
  std::vector<PodEviction> due = {};               // in order
  absl::Duration next = absl::InfiniteDuration();  // when another one is due, of the steady clock
};

// Those of a drain's plan that are due at `steady`, of a steady clock: first whoever was not asked
// in that way yet, then whoever is due the longest, so that those who take up whole turns leave out
// nobody.
DrainTurn PlanTurn(const std::vector<PodEviction>& plan, const EvictionRetries& retries,
                   absl::Duration steady);

// Whether a turn that has taken so long ends, though others are due.
inline bool IsTurnOver(absl::Duration taken) { return taken >= kDrainTurn; }

// The request's body: DeleteOptions, in an Eviction for kEvict. It holds for this Pod only, not for
// another of the same name.
Json EvictionBody(const PodEviction& eviction);

}  // namespace muster::kubernetes
