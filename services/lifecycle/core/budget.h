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

// `2` or `25%`: 1 to 100,000, or 1 to 100 percent. False: neither.
bool IsMaxUnavailable(absl::string_view text);

// How many of `nodes` Nodes `text` allows: percentages are rounded down, at least 1. nullopt:
// empty, no bound. `text` must be well-formed or empty.
std::optional<int64_t> MaxUnavailable(absl::string_view text, int64_t nodes);

// Why a Node is out of service of somebody's free will; nullptr: it is not.
const char* TakenFor(const Node& node);
// The same, or that it is unhealthy: such a one is as little there for the pool as one that was
// taken away.
const char* DisruptionOf(const Node& node);

// The budget as it stands, spent as the plan goes on.
class Budget {
 public:
  // `text`: well-formed or empty; a percentage of the target, or of the Nodes where they are more.
  // `nodes`: all of the pool; those whose machine only waits to be given back count for nothing.
  // `others`: so many more are there, all as they should be.
  Budget(absl::string_view text, int64_t target, const std::vector<const Node*>& nodes,
         int64_t others = 0);

  // False: it is used up. A Node in triage may be taken away when those that were are not too many:
  // it is out of service already.
  bool Spend(const std::string& machine, const char* cause);
  // The Node is taken out of service, however many are.
  void Take(const std::string& machine, const char* cause);
  // The Node is unhealthy, though it did not count as out of service when the plan began.
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
  int64_t taken_ = 0;                                    // uses that are not ill health
  mutable std::string denial_;                           // empty: not worded since the last use
};

}  // namespace muster::lifecycle
