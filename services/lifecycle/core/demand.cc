#include "services/lifecycle/core/demand.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

int64_t Size(const std::vector<const Node*>& nodes) { return static_cast<int64_t>(nodes.size()); }

// Nodes that an invalid pool keeps: all whose machine is not on its way back.
int64_t Kept(const std::vector<const Node*>& nodes) {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const Node* node) { return !IsReturnable(node->state); });
}

ClaimAsk ClaimOf(const Pool& pool, const std::vector<const Node*>& nodes) {
  ClaimAsk ask;
  ask.generation = pool.account.generation;
  int64_t wanted = pool.wanted_nodes();
  if (IsPublishedInvalid(pool)) wanted = std::min(wanted, Kept(nodes));
  ask.nodes = std::min(wanted, pool.account.requested_nodes);
  // A machine is not given back and got again by the same request: whether it still is the old
  // Node's could not be told, and a late copy of this request would take it away from the new one.
  const int64_t released = std::count_if(nodes.begin(), nodes.end(), [](const Node* node) {
    return node->state == NodeState::kDeleted;
  });
  if (released > 0) ask.nodes = std::min(ask.nodes, Size(nodes) - released);
  for (const Node* node : nodes) {
    if (ask.returns.size() == kMaxReturns) break;
    if (!IsReturnable(node->state)) continue;
    ask.returns.push_back({node->machine, node->state == NodeState::kDeliveryFailed});
  }
  return ask;
}

}  // namespace

Judgement Judge(const Pool& pool, const CatalogueFacts& catalogue) {
  if (!catalogue.known) return {};
  const Spec& spec = pool.spec;
  if (!catalogue.type) {
    return {Validity::kInvalid, "CWInvalidInstanceType",
            absl::StrCat("Instance type ", spec.instance_type, " does not exist.")};
  }
  Judgement judgement{Validity::kValid, "", ""};
  std::vector<std::string> faults;
  if (!catalogue.offered) {
    judgement.event = "CWInstanceTypeNotInZone";
    faults.push_back(absl::StrCat("Instance type ", spec.instance_type,
                                  " is not available in zone ", pool.zone, "."));
  } else if (spec.compute_class == "spot" && !catalogue.general_access) {
    judgement.event = "CWInstanceTypeNotInZone";
    faults.push_back(absl::StrCat("Zone ", pool.zone, " does not serve spot pools."));
  }
  if (!faults.empty()) judgement.validity = Validity::kInvalid;
  judgement.message = absl::StrJoin(faults, " ");
  return judgement;
}

bool IsPublishedInvalid(const Pool& pool) {
  return ReasonOf(pool.status.conditions, "Validated") == "Invalid";
}

bool IsReadyToRelease(const Pool& pool, const std::vector<const Node*>& nodes) {
  return pool.deleting() && nodes.empty() && pool.account.requested_nodes == 0 &&
         pool.account.granted_nodes == 0 &&
         ReasonOf(pool.status.conditions, "NodesRemoved") == "Complete";
}

Demand DemandOf(const Pool& pool, const std::vector<const Node*>& nodes,
                const CatalogueFacts& catalogue) {
  const Account& account = pool.account;
  Demand demand;
  if (IsReadyToRelease(pool, nodes)) {
    demand.holding = HoldingAsk{0, account.generation, true};
    demand.claim = ClaimAsk{0, account.generation, {}, true};
    demand.configuration = ConfigurationAsk{pool.generation, false, true};
    return demand;
  }
  const Validity validity = Judge(pool, catalogue).validity;
  const int64_t target = validity == Validity::kValid ? pool.wanted_nodes() : 0;
  const int64_t charge =
      std::max({target, account.granted_nodes, account.requested_nodes, Size(nodes)});
  demand.holding = HoldingAsk{charge, account.generation, false};
  if (account.requested_nodes > 0 || !nodes.empty()) {
    demand.claim = ClaimOf(pool, nodes);
  }
  if (validity == Validity::kValid && !pool.deleting()) {
    demand.configuration = ConfigurationAsk{pool.generation, catalogue.type->gpus > 0, false};
  }
  return demand;
}

}  // namespace muster::lifecycle
