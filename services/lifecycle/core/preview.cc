#include "services/lifecycle/core/preview.h"

#include <algorithm>
#include <utility>

#include "services/common/state.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/core/reconfiguration.h"
#include "services/lifecycle/core/removals.h"

namespace muster::lifecycle {
namespace {

using Why = DelayedRemoval::Why;

// All that go in the end, as far as is known now: those that go, those that are awaited, and of the
// others as many as are still missing.
std::vector<const DelayedRemoval*> LateOnes(const Removals& removals) {
  std::vector<const DelayedRemoval*> late;
  int64_t open = removals.open;
  for (const bool awaited : {true, false}) {
    for (const DelayedRemoval& delayed : removals.delayed) {
      if (delayed.awaited != awaited) continue;
      if (!awaited && open-- <= 0) break;
      late.push_back(&delayed);
    }
  }
  return late;
}

int64_t NodesToReboot(const Pool& pool, const std::vector<const Node*>& nodes,
                      const std::string& profile) {
  if (profile.empty() || pool.deleting()) return 0;
  return std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) {
    const bool asked = !pool.reconfiguring() || IsAsked(*pool.reconfiguration, *node);
    return IsInService(node->state) && asked && node->observed.node_profile != profile;
  });
}

}  // namespace

Rehearsal::Rehearsal(const Cluster& cluster, const Pool* before, const Pool& after,
                     const std::vector<Node>& nodes)
    : last_(after) {
  const auto held = static_cast<int64_t>(nodes.size());
  if (before != nullptr) {
    asked_before_ = std::max(before->account.requested_nodes, held);
    charged_before_ = std::max(before->account.granted_nodes, asked_before_);
  }
  Overlay<State> overlay(state_, 0);
  overlay.Put(cluster);
  overlay.Put(after);
  for (const Node& node : nodes) overlay.Put(node);
  revision_ = overlay.revision();
}

void Rehearsal::TellVictims(const Snapshot& snapshot) {
  const Pool& pool = *snapshot.pool;
  Budget budget(pool.spec.max_unavailable, pool.spec.target_nodes, snapshot.nodes);
  const int64_t kept = KeptNodes(pool, snapshot.nodes, snapshot.answers.claim);
  const Removals removals =
      SelectRemovals(pool, snapshot.nodes, kept - pool.wanted_nodes(), budget, snapshot.now);
  const auto add = [this](const Node& node) {
    ++told_.victim_count;
    if (told_.victims.size() < kMaxNamedMachines) told_.victims.push_back(node.machine);
  };
  for (const Node* node : removals.going) add(*node);
  for (const DelayedRemoval* late : LateOnes(removals)) {
    add(*late->node);
    told_.waiting_victims += late->why == Why::kWorks ? 1 : 0;
  }
}

bool Rehearsal::Pass(const Snapshot& snapshot) {
  if (std::exchange(first_, false)) {
    TellVictims(snapshot);
    const std::string& known = last_.status.node_profile;
    const Answer<ConfigurationAnswer>& told = snapshot.answers.configuration;
    if (told.here()) {
      // What waits for Nodes that are mid-delivery will be active.
      told_.active = told.value.waiting ? told.value.waiting->node_profile : told.value.active;
      told_.pending = told.value.pending ? told.value.pending->node_profile : "";
    }
    told_.nodes_to_reboot =
        NodesToReboot(last_, snapshot.nodes, told_.active.empty() ? known : told_.active);
  }
  const Demand demand = DemandOf(*snapshot.pool, snapshot.nodes, snapshot.catalogue);
  if (demand.claim) {
    asked_ = demand.claim->nodes;
    told_.claim = snapshot.answers.claim;
  }
  const Account before = last_.account;
  const bool was_valid = IsPublishedValid(last_);
  Overlay<State> overlay(state_, revision_);
  const ApplyPlan command{last_.name, last_.uid, snapshot.version, "", 0, Plan(snapshot).actions};
  const bool done = Decide(overlay, command, snapshot.now).ok();
  revision_ = overlay.revision();
  const Pool* after = state_.table<Pool>().Find(last_.name);
  if (after != nullptr) last_ = *after;
  if (!done || after == nullptr) return false;
  return last_.account.requested_nodes != before.requested_nodes ||
         last_.account.granted_nodes != before.granted_nodes ||
         IsPublishedValid(last_) != was_valid;
}

Preview Rehearsal::Told() const {
  Preview out = told_;
  const auto nodes = static_cast<int64_t>(state_.NodesOf(last_.name).size());
  const bool wanted = last_.deleting() || IsPublishedValid(last_);
  out.charge = wanted ? last_.wanted_nodes() : ChargedNodes(last_, nodes);
  out.charge_delta = out.charge - charged_before_;
  out.more_nodes = std::max<int64_t>(0, asked_ - asked_before_);
  if (out.more_nodes == 0) out.claim = {};
  const Condition* capacity = FindCondition(last_.status.conditions, "Capacity");
  if (capacity != nullptr) out.capacity = capacity->message;
  return out;
}

}  // namespace muster::lifecycle
