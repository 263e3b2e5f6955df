// Of NodeReconciler: how what is to be reported of a Node is looked up anew before.
#include <set>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/node_reconciler.h"

namespace muster::kubernetes {

using lifecycle::v1::Node;

absl::Status NodeReconciler::Confirm(const NodeFacts& facts, const std::set<std::string>& former,
                                     const NodePlan& plan) {
  if (plan.reports.empty()) return absl::OkStatus();
  const Node& node = *facts.node;
  if (facts.object == nullptr)
    RETURN_IF_ERROR(ConfirmAbsent(node, parts_.cluster->NodeNameOf(node.machine())));
  if (!SaysNoWork(node, facts.object, plan)) return absl::OkStatus();
  RETURN_IF_ERROR(ConfirmNoWork(facts, former));
  // The work may be in another Kubernetes, to which the cluster was turned over.
  return facts.object == nullptr ? absl::OkStatus() : parts_.identity->ConfirmBinding();
}

absl::Status NodeReconciler::ConfirmAbsent(const Node& node, const std::string& name) {
  const std::string& machine = node.machine();
  bool there = false;
  for (const std::string& each : std::set<std::string>{machine, name}) {
    const auto named = parts_.api->Get(absl::StrCat(kNodesPath, "/", each));
    if (!named.ok() && !absl::IsNotFound(named.status())) return named.status();
    if (!named.ok()) continue;
    if (!parts_.cluster->Is(ReadNode(*named), machine)) continue;
    parts_.cluster->nodes().Put(*named);
    there = true;
  }
  // It may be there under a name that nobody knows.
  if (!there) {
    ASSIGN_OR_RETURN(there, lists_.Has(node.pool_uid(), machine));
  }
  return there ? absl::AbortedError("the Node is there") : parts_.identity->ConfirmBinding();
}

absl::StatusOr<NodeLists::Machines> NodeReconciler::ListNodes(const std::string& pool_uid) {
  NodeLists::Machines machines;
  const auto take = [&](const Json& json) {
    const NodeObject node = ReadNode(json);
    for (const std::string& machine : {ProviderMachine(node), node.name}) {
      if (parts_.cluster->Is(node, machine)) machines.insert(machine);
    }
    parts_.cluster->nodes().Put(json);
  };
  const std::string selector = absl::StrCat(kPoolUidLabel, "=", pool_uid);
  RETURN_IF_ERROR(parts_.api->List(kNodesPath, {{"labelSelector", selector}}, take).status());
  // Whoever uses the list later may confirm another server than the one that was listed.
  RETURN_IF_ERROR(parts_.identity->Confirm());
  return machines;
}

absl::Status NodeReconciler::ConfirmNoWork(const NodeFacts& facts,
                                           const std::set<std::string>& former) {
  bool work = false;
  for (const std::string& name : parts_.cluster->NodeNamesOf(facts.node->machine(), former)) {
    const std::string selector = absl::StrCat("spec.nodeName=", name);
    RETURN_IF_ERROR(parts_.api
                        ->List(kPodsPath, {{"fieldSelector", selector}},
                               [&](const Json& pod) {
                                 parts_.cluster->pods().Put(pod);
                                 work |= IsWorkOn(facts.object, ReadPod(pod), absl::Now());
                               })
                        .status());
  }
  return work ? absl::AbortedError("there is work on the Node") : absl::OkStatus();
}

}  // namespace muster::kubernetes
