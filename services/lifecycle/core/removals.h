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

// A Node that is to go, or would be next, and does not go now.
struct DelayedRemoval {
  enum class Why {
    kReboots,    // goes once it is back
    kWorks,      // IdleOnly leaves it alone until it is idle
    kProtected,  // until its protection ends
    kBudget,     // the pool's disruption budget is used up
  };
  const Node* node = nullptr;
  Why why = Why::kWorks;
  // It is awaited: nobody goes in its place. Else the next in order is taken, if there is one.
  bool awaited = false;
  std::string denial = {};  // kBudget: Budget::Denial
};

struct Removals {
  std::vector<const Node*> going = {};  // first to go first
  std::vector<DelayedRemoval> delayed = {};
  // How many of the surplus find nobody: they go as soon as one of `delayed` may.
  int64_t open = 0;
};

// Whether the pool's claim does not hold the Node's machine, though it is not on its way back. Of a
// deleted pool all go as they do.
bool IsUnheld(const Pool& pool, const Node& node, const PeerReply<ClaimFacts>& claim);

// Whether AtTarget shows such Nodes (RenderAtTarget), and capacity does not say which they are now.
bool MayHaveUnheld(const Pool& pool, const PeerReply<ClaimFacts>& claim);

// Whether the cluster autoscaler chose the Node to leave by a scale-down that is under way. It
// takes its taint off no more: back in service the Node would be of no use.
bool IsGivenUp(const Node& node);

// Nodes that are here or come, and are not on their way out; their machines are the pool's.
int64_t KeptNodes(const Pool& pool, const std::vector<const Node*>& nodes,
                  const PeerReply<ClaimFacts>& claim);

// Whether it is known if a scale-down goes rack by rack, or it does not matter.
bool KnowsRacks(const Snapshot& snapshot);

// `nodes`: all of the snapshot's pool, as they are by now. `surplus`: how many more than wanted are
// kept (KeptNodes); at most 0: nobody goes but the rest of racks that leave (VictimRacks::Leaves). Nor
// do those that are not among these: an unheld Node goes by itself, later, and while there may be such
// (MayHaveUnheld) nobody goes. Unless KnowsRacks only named ones go. Whoever goes out of service is
// charged to `budget`.
Removals SelectRemovals(const Snapshot& snapshot, std::vector<const Node*> nodes, int64_t surplus,
                        Budget& budget);

}  // namespace muster::lifecycle
