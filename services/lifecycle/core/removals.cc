#include "services/lifecycle/core/removals.h"

#include <algorithm>
#include <utility>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/victim_racks.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

using Why = DelayedRemoval::Why;

class Selection {
 public:
  Selection(const Snapshot& snapshot, VictimRacks racks, int64_t surplus, Budget& budget)
      : snapshot_(snapshot),
        pool_(*snapshot.pool),
        racks_(std::move(racks)),
        surplus_(surplus),
        budget_(budget),
        now_(snapshot.now) {}

  Removals Run(const std::vector<const Node*>& nodes) {
    std::vector<const Node*> victims = VictimsInOrder(nodes);
    // Whoever goes by the target does so first.
    int64_t others = surplus_ - CountGoingByTarget(snapshot_, nodes);
    for (const Node* node : nodes) {
      if (node->state != NodeState::kReconfiguring) continue;
      if (pool_.deleting() || !IsNamed(*node)) {
        victims.push_back(node);
      } else if (GoesByTarget(snapshot_, *node) || others-- > 0) {
        Delay(*node, Why::kReboots, true);
      }
    }
    racks_.Sort(victims);
    // A rack that leaves goes whole, and nobody else for more than the surplus.
    for (const Node* victim : victims) {
      if (surplus_ > 0 || GoesByTarget(snapshot_, *victim) || racks_.Leaves(*victim)) Take(*victim);
    }
    // What is still too much goes once it is back from its reboot.
    for (const Node* node : rebooting_) {
      if (surplus_ <= 0) break;
      Delay(*node, Why::kReboots, true);
    }
    out_.open = std::max<int64_t>(0, surplus_);
    out_.chose = true;
    return std::move(out_);
  }

 private:
  // Named Nodes and those of a rack that was begun are awaited: nobody goes instead of them. So is
  // every Node that waits for the budget. Instead of other Nodes that work or are protected the
  // next ones go.
  void Take(const Node& node) {
    const bool awaited = IsNamed(node) || racks_.IsBegun(node);
    // A reboot is awaited, unless all goes.
    if (node.state == NodeState::kReconfiguring && !pool_.deleting())
      return awaited ? Delay(node, Why::kReboots, true) : rebooting_.push_back(&node);
    if (node.observed.active && !ActiveToo(pool_)) return Delay(node, Why::kWorks, awaited);
    if (!pool_.deleting()) {
      if (IsProtected(node, now_)) return Delay(node, Why::kProtected, awaited);
      if (IsOutOfBudget(node)) return Delay(node, Why::kBudget, true);
    }
    Count(node);
    out_.going.push_back(&node);
  }

  bool IsOutOfBudget(const Node& node) {
    const bool out = TakenFor(node) != nullptr;
    return IsUp(node.state) && !out && !budget_.Spend(node.machine, "scale-down");
  }

  // It goes, at once or once it may.
  void Count(const Node& node) {
    --surplus_;
    racks_.Begin(node);
  }

  void Delay(const Node& node, Why why, bool awaited) {
    if (awaited) Count(node);
    out_.delayed.push_back({&node, why, awaited, why == Why::kBudget ? budget_.Denial() : ""});
  }

  const Snapshot& snapshot_;
  const Pool& pool_;
  VictimRacks racks_;
  int64_t surplus_;
  Budget& budget_;
  const absl::Time now_;
  std::vector<const Node*> rebooting_;  // rebooting Nodes that are not awaited so far
  Removals out_;
};

}  // namespace

bool IsUnheld(const Pool& pool, const Node& node, const PeerReply<ClaimFacts>& claim) {
  const std::vector<std::string>* held = HeldMachines(claim);
  if (pool.deleting() || held == nullptr || IsReturnable(node.state)) return false;
  return !std::binary_search(held->begin(), held->end(), node.machine);
}

bool MayHaveUnheld(const Pool& pool, const PeerReply<ClaimFacts>& claim) {
  if (pool.deleting() || !claim.away() || HeldMachines(claim) != nullptr) return false;
  const Condition* shown = FindCondition(pool.status.conditions, condition::kAtTarget);
  return shown != nullptr && shown->status == condition_status::kUnknown;
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

bool GoesByTarget(const Snapshot& snapshot, const Node& node) {
  const Pool& pool = *snapshot.pool;
  if (!IsAskedToGo(node) || !Stays(node.state) || pool.deleting()) return false;
  if (snapshot.catalogue.nodes_per_rack() > 0 || AsksForNoMore(pool)) return false;
  return !IsUnheld(pool, node, snapshot.answers.claim);
}

int64_t CountGoingByTarget(const Snapshot& snapshot, const std::vector<const Node*>& nodes) {
  return std::count_if(nodes.begin(), nodes.end(),
                       [&](const Node* node) { return GoesByTarget(snapshot, *node); });
}

int64_t SurplusOf(const Snapshot& snapshot, const std::vector<const Node*>& nodes, int64_t kept) {
  const Pool& pool = *snapshot.pool;
  // Without what is to come for these.
  const int64_t wanted = pool.wanted_nodes() - CountGoingByTarget(snapshot, nodes);
  return kept - std::max(pool.target_nodes(), wanted);
}

bool KnowsRacks(const Snapshot& snapshot) {
  return snapshot.catalogue.known || snapshot.pool->deleting();
}

Removals SelectRemovals(const Snapshot& snapshot, std::vector<const Node*> nodes, int64_t surplus,
                        Budget& budget) {
  // Else Nodes would go because of others that are not the pool's.
  if (MayHaveUnheld(*snapshot.pool, snapshot.answers.claim)) return {};
  const Pool& pool = *snapshot.pool;
  const bool any = KnowsRacks(snapshot);
  std::erase_if(nodes, [&](const Node* node) {
    return IsUnheld(pool, *node, snapshot.answers.claim) || !(any || IsNamed(*node));
  });
  VictimRacks racks(snapshot, nodes);
  if (surplus <= 0 && !racks.AnyLeaves() && CountGoingByTarget(snapshot, nodes) == 0) return {};
  return Selection(snapshot, std::move(racks), surplus, budget).Run(nodes);
}

}  // namespace muster::lifecycle
