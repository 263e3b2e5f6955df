#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "services/lifecycle/core/types.h"

// The one disruption budget of a pool (spec.lifecycle.maxUnavailable) over all voluntary causes:
// scale-down, repair, reboots, drains. Deletion and preemption are not voluntary.
namespace muster::lifecycle {

// True for a number such as `2` (1 to 100,000) and a percentage such as `25%` (1 to 100).
bool IsMaxUnavailable(absl::string_view text);

// How many of `nodes` Nodes may be out of service by `text`; percentages are rounded down, to at
// least 1. nullopt: `text` is empty, there is no bound. `text` must be well-formed or empty.
std::optional<int64_t> MaxUnavailable(absl::string_view text, int64_t nodes);

// The voluntary cause for which a Node is, or is being, taken out of service; nullptr: none.
const char* TakenFor(const Node& node);
// Likewise, or "unhealthy": an unhealthy Node is as lost to the pool as one that was taken away.
const char* DisruptionOf(const Node& node);

// What is used of the budget, and by whom; spent as the plan goes on.
class Budget {
 public:
  // `text`: well-formed or empty. A percentage is of the target, or of the number of Nodes if that
  // is larger. `nodes`: the pool's, of which those whose machine is on its way back are not
  // counted. `others`: how many more Nodes the pool has, all in service or on their way and
  // healthy.
  Budget(absl::string_view text, int64_t target, const std::vector<const Node*>& nodes,
         int64_t others = 0);

  // Takes the Node out of service if the budget allows; false: it is used up. For a Node that
  // counts as unhealthy already only those that were taken count, because it is no further loss.
  bool Spend(const std::string& machine, const char* cause);
  // Takes the Node out of service, even beyond the budget.
  void Take(const std::string& machine, const char* cause);
  // Counts the Node as unhealthy, unless it counts as out of service already.
  void FallIll(const std::string& machine);
  int64_t used() const { return static_cast<int64_t>(uses_.size()); }
  std::optional<int64_t> limit() const { return limit_; }
  // Which budget refuses and what is using it: "maxUnavailable 25% (2 of 8 Nodes) is used up by g1
  // (scale-down), g2 (repair)".
  const std::string& Denial() const;

 private:
  struct Use {
    std::string machine = {};
    const char* cause = nullptr;
  };
  void Add(const std::string& machine, const char* cause);

  const std::string text_;
  const int64_t size_;
  const std::optional<int64_t> limit_;
  std::vector<Use> uses_;
  absl::flat_hash_map<std::string, size_t> by_machine_;  // its first use
  int64_t taken_ = 0;                                    // uses for another cause than ill health
  mutable std::string denial_;                           // empty: not worded since the last use
};

}  // namespace muster::lifecycle
