#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/lifecycle/core/planned_state.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// What the files that render a pool's status, and explain it, share.
namespace muster::lifecycle {

// `2 of 3 Nodes`.
std::string ShareText(int64_t part, int64_t whole);

// How many Nodes are in the cluster (IsPresent), on their way into it, in service, in production.
struct NodeCounts {
  int64_t present = 0;
  int64_t in_progress = 0;
  int64_t in_service = 0;
  int64_t in_production = 0;
};

NodeCounts CountNodes(const PlannedState& planned);

// ", too few for the gang" or the like: why machines do not suffice although there are as many as
// are asked for.
std::string TooFewText(const CatalogueFacts& catalogue);

// Quota's verdict on the target alone: there may be room for it although there is none for
// replacements that come early, or for Nodes that are on their way out.
HoldingFacts::Verdict VerdictOfTarget(const Pool& pool, const HoldingFacts& holding);

// --- render_configuration.cc: what the Nodes boot, and what they should ---
// Writes what the status says of the configuration, apart from conditions.
void RenderConfiguration(Status& status, const Snapshot& snapshot, const PlannedState& planned);
// The condition NodeReconfigurationRequired; none while configuration was never asked. `profile`:
// the one that is active.
void RenderReconfiguration(std::vector<Condition>& out, const Snapshot& snapshot,
                           const PlannedState& planned, const std::string& profile);

}  // namespace muster::lifecycle
