#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// Who goes of a pool that has more Nodes than it wants: one answer for the plan that carries it out
// and for the preview that tells of it.
namespace muster::lifecycle {

// A Node that is to go, or would go next, and cannot go now.
struct DelayedRemoval {
  enum class Why {
    kReboots,    // goes once it is back
    kWorks,      // IdleOnly leaves it alone until it is idle
    kProtected,  // until its protection ends
    kBudget,     // the pool's disruption budget is used up
  };
  const Node* node = nullptr;
  Why why = Why::kWorks;
  // True: no other Node goes in its place. False: the next in order goes instead, if there is one.
  bool awaited = false;
  std::string denial = {};  // kBudget: Budget::Denial
};

struct Removals {
  std::vector<const Node*> going = {};  // first to go first
  std::vector<DelayedRemoval> delayed = {};
  // How many Nodes of the surplus nobody goes for: as many of `delayed` go as soon as they may.
  int64_t open = 0;
  // False: nobody had to go, and no Node's work was looked at.
  bool chose = false;
};

// True when capacity says that the pool's claim does not hold the Node's machine, although the
// machine is not on its way back. False for a pool being deleted, whose Nodes go anyway.
bool IsUnheld(const Pool& pool, const Node& node, const PeerReply<ClaimFacts>& claim);

// True when the published AtTarget tells of such Nodes (RenderAtTarget) and capacity, being out of
// reach, does not say which they are now.
bool MayHaveUnheld(const Pool& pool, const PeerReply<ClaimFacts>& claim);

// True when the cluster autoscaler marked the Node and its scale-down is under way. The autoscaler
// will not take its taint off again, so that the Node would be of no use back in service.
bool IsGivenUp(const Node& node);

// How many Nodes are here or coming, not on their way out, and held by the pool's claim as far as
// known.
int64_t KeptNodes(const Pool& pool, const std::vector<const Node*>& nodes,
                  const PeerReply<ClaimFacts>& claim);

// True when the Node goes although the pool may have no surplus, because the target was lowered for
// it (IsAskedToGo). Not in whole racks (VictimRacks), nor while nobody would come for those that
// leave instead (AsksForNoMore).
bool GoesByTarget(const Snapshot& snapshot, const Node& node);
int64_t CountGoingByTarget(const Snapshot& snapshot, const std::vector<const Node*>& nodes);

// How many Nodes a pool that keeps `kept` (KeptNodes) has too many, with those that go by the
// target. `nodes`: the pool's, quiet ones may be missing.
int64_t SurplusOf(const Snapshot& snapshot, const std::vector<const Node*>& nodes, int64_t kept);

// True when it is known whether a scale-down goes rack by rack (the catalogue is known), or when
// that does not matter (the pool is being deleted).
bool KnowsRacks(const Snapshot& snapshot);

// Chooses the Nodes to remove. `nodes`: all of the snapshot's pool, as they are by now. `surplus`:
// how many are too many (SurplusOf); at 0 or below only those go that GoesByTarget, and the rest of
// racks that leave (VictimRacks::Leaves). Unheld Nodes are never chosen, because they go by
// themselves later (LeaveUnheld); while there may be such (MayHaveUnheld) nobody is. Without
// KnowsRacks only named Nodes are. Whoever goes out of service is charged to `budget`.
Removals SelectRemovals(const Snapshot& snapshot, std::vector<const Node*> nodes, int64_t surplus,
                        Budget& budget);

}  // namespace muster::lifecycle
