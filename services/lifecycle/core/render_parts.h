#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/lifecycle/core/planned_state.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// What the files that render a pool's status, and explain it, share.
namespace muster::lifecycle {

// As `2 of 3 Nodes`.
std::string ShareText(int64_t part, int64_t whole);

// How many Nodes are in the cluster, on their way into it, and there to stay.
struct NodeCounts {
  int64_t present = 0;
  int64_t in_progress = 0;
  int64_t in_service = 0;
  int64_t in_production = 0;
};

NodeCounts CountNodes(const PlannedState& planned);

// Why machines that are as many as are asked for do not do: they make up no gang, or no whole rack.
std::string TooFewText(const CatalogueFacts& catalogue);

// Of the target alone: there may be no room for replacements that come early, and yet for that.
HoldingFacts::Verdict VerdictOfTarget(const Pool& pool, const HoldingFacts& holding);

// --- render_configuration.cc: what the Nodes boot, and what they should ---
// All of the status but its conditions.
void RenderConfiguration(Status& status, const Snapshot& snapshot, const PlannedState& planned);
// The condition NodeReconfigurationRequired. `profile`: the one that is active.
void RenderReconfiguration(std::vector<Condition>& out, const Snapshot& snapshot,
                           const PlannedState& planned, const std::string& profile);

}  // namespace muster::lifecycle
