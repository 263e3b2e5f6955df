#include "services/lifecycle/core/removals.h"

#include <algorithm>
#include <utility>

#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

using Why = DelayedRemoval::Why;

// By the caller or the autoscaler.
bool IsNamed(const Node& node) { return node.removal_requested || node.observed.autoscaler_marked; }

class Selection {
 public:
  Selection(const Pool& pool, int64_t surplus, Budget& budget, absl::Time now)
      : pool_(pool), surplus_(surplus), budget_(budget), now_(now) {}

  Removals Run(const std::vector<const Node*>& nodes) {
    std::vector<const Node*> victims = VictimsInOrder(nodes);
    for (const Node* node : nodes) {
      if (node->state != NodeState::kReconfiguring) continue;
      // A reboot is awaited, unless all goes.
      if (pool_.deleting()) victims.push_back(node);
      if (!pool_.deleting() && IsNamed(*node) && surplus_ > 0) Delay(*node, Why::kReboots, true);
    }
    for (const Node* victim : victims) {
      if (surplus_ == 0) break;
      Take(*victim);
    }
    // Of what is still too much those go that are back from their reboot.
    for (const Node* node : nodes) {
      if (surplus_ == 0 || pool_.deleting()) break;
      if (node->state == NodeState::kReconfiguring && !IsNamed(*node))
        Delay(*node, Why::kReboots, true);
    }
    out_.open = surplus_;
    return std::move(out_);
  }

 private:
  // Named ones keep their place: nobody goes instead of them. A budget that is used up lets nobody
  // go; one that works or is protected lets others go.
  void Take(const Node& node) {
    const bool named = IsNamed(node);
    if (node.observed.active && !ActiveToo(pool_)) return Delay(node, Why::kWorks, named);
    if (!pool_.deleting()) {
      if (IsProtected(node, now_)) return Delay(node, Why::kProtected, named);
      if (IsOutOfBudget(node)) return Delay(node, Why::kBudget, true);
    }
    --surplus_;
    out_.going.push_back(&node);
  }

  bool IsOutOfBudget(const Node& node) {
    const bool out = TakenFor(node) != nullptr;
    return IsUp(node.state) && !out && !budget_.Spend(node.machine, "scale-down");
  }

  void Delay(const Node& node, Why why, bool awaited) {
    if (awaited) --surplus_;
    out_.delayed.push_back({&node, why, awaited, why == Why::kBudget ? budget_.Denial() : ""});
  }

  const Pool& pool_;
  int64_t surplus_;
  Budget& budget_;
  const absl::Time now_;
  Removals out_;
};

}  // namespace

bool ActiveToo(const Pool& pool) {
  return pool.deleting() || pool.spec.scale_down_strategy == ScaleDownStrategy::kPreferIdle;
}

bool IsUnheld(const Pool& pool, const Node& node, const PeerReply<ClaimFacts>& claim) {
  const std::vector<std::string>* held = HeldMachines(claim);
  if (pool.deleting() || held == nullptr || IsReturnable(node.state)) return false;
  return !std::binary_search(held->begin(), held->end(), node.machine);
}

bool IsGivenUp(const Node& node) {
  return node.removal_cause == RemovalCause::kScaleDown && node.observed.autoscaler_marked;
}

int64_t KeptNodes(const Pool& pool, const std::vector<const Node*>& nodes,
                  const PeerReply<ClaimFacts>& claim) {
  return std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) {
    return Stays(node->state) && !IsUnheld(pool, *node, claim);
  });
}

Removals SelectRemovals(const Pool& pool, std::vector<const Node*> nodes,
                        const PeerReply<ClaimFacts>& claim, int64_t surplus, Budget& budget,
                        absl::Time now) {
  if (surplus <= 0) return {};
  std::erase_if(nodes, [&](const Node* node) { return IsUnheld(pool, *node, claim); });
  return Selection(pool, surplus, budget, now).Run(nodes);
}

}  // namespace muster::lifecycle
