#include <utility>

#include "services/common/resource_name.h"
#include "services/musterctl/print/object_parts.h"
#include "services/musterctl/print/words.h"

// Clusters, NodePools, Nodes and events as objects.
namespace muster::musterctl {
namespace {

json Taints(const google::protobuf::RepeatedPtrField<lifecycle::v1::Taint>& taints) {
  json list = json::array();
  for (const auto& taint : taints) {
    json item = {{"effect", taint.effect()}, {"key", taint.key()}};
    PutText(item, "value", taint.value());
    list.push_back(std::move(item));
  }
  return list;
}

json Conditions(const google::protobuf::RepeatedPtrField<lifecycle::v1::Condition>& conditions) {
  json list = json::array();
  for (const auto& condition : conditions) {
    json item = {{"message", condition.message()},
                 {"observedGeneration", condition.observed_generation()},
                 {"reason", condition.reason()},
                 {"status", condition.status()},
                 {"type", condition.type()}};
    PutTime(item, "lastTransitionTime", condition.last_transition_time());
    list.push_back(std::move(item));
  }
  return list;
}

json Configuration(const lifecycle::v1::NodeConfiguration& configuration, bool revision) {
  json object = {{"nodeProfile", configuration.node_profile()},
                 {"summary", Strings(configuration.summary())}};
  PutTime(object, "createdAt", configuration.created_at());
  if (revision) object["activeNodes"] = configuration.active_nodes();
  if (configuration.disabled()) object["disabled"] = true;
  if (configuration.enable_count() > 0) object["enableCount"] = configuration.enable_count();
  return object;
}

// The reconfigure reboots last asked for.
json ReconfigurationOf(const lifecycle::v1::Reconfiguration& reconfiguration) {
  json object = {{"allowedFailures", reconfiguration.allowed_failures()},
                 {"evictActive", reconfiguration.evict_active()},
                 {"number", reconfiguration.number()},
                 {"rebootedNodes", reconfiguration.rebooted_nodes()},
                 {"state", ReconfigurationStateWord(reconfiguration.state())}};
  PutText(object, "maxUnavailable", reconfiguration.max_unavailable());
  PutTime(object, "createdAt", reconfiguration.create_time());
  PutTime(object, "stateTime", reconfiguration.state_time());
  if (reconfiguration.machines_size() > 0) object["machines"] = Strings(reconfiguration.machines());
  if (reconfiguration.failed_machines_size() > 0)
    object["failedMachines"] = Strings(reconfiguration.failed_machines());
  PutText(object, "haltReason", reconfiguration.halt_reason());
  return object;
}

json Affinity(const lifecycle::v1::NodeAffinity& affinity) {
  json terms = json::array();
  for (const auto& term : affinity.terms()) {
    json expressions = json::array();
    for (const auto& expression : term.expressions()) {
      json item = {{"key", expression.key()}, {"operator", expression.operator_()}};
      if (expression.values_size() > 0) item["values"] = Strings(expression.values());
      expressions.push_back(std::move(item));
    }
    terms.push_back({{"expressions", std::move(expressions)}});
  }
  return {{"terms", std::move(terms)}};
}

// What the reference's NodePools do not have; defaults are left out.
void PutOwnFields(json& object, const lifecycle::v1::NodePoolSpec& spec) {
  PutText(object["lifecycle"], "maxUnavailable", spec.lifecycle().max_unavailable());
  if (spec.has_node_affinity()) object["nodeAffinity"] = Affinity(spec.node_affinity());
  if (spec.priority() != 0) object["priority"] = spec.priority();
  if (spec.gang()) object["gang"] = true;
  if (!spec.has_prefill()) return;
  json& prefill = object["prefill"] = {{"enabled", spec.prefill().enabled()}};
  if (spec.prefill().timeout_seconds() != 0)
    prefill["timeoutSeconds"] = spec.prefill().timeout_seconds();
  if (spec.prefill().max_nodes() != 0) prefill["maxNodes"] = spec.prefill().max_nodes();
}

json PoolSpec(const lifecycle::v1::NodePoolSpec& spec) {
  const auto& life = spec.lifecycle();
  json object = {{"autoscaling", spec.autoscaling()},
                 {"instanceType", spec.instance_type()},
                 {"lifecycle",
                  {{"disableUnhealthyNodeEviction", !life.has_disable_unhealthy_node_eviction() ||
                                                        life.disable_unhealthy_node_eviction()},
                   {"scaleDownStrategy",
                    life.scale_down_strategy().empty() ? "IdleOnly" : life.scale_down_strategy()}}},
                 {"maxNodes", spec.max_nodes()},
                 {"minNodes", spec.min_nodes()},
                 {"targetNodes", spec.target_nodes()}};
  if (spec.compute_class() != "default") PutText(object, "computeClass", spec.compute_class());
  if (spec.node_labels_size() > 0) object["nodeLabels"] = ToJson(spec.node_labels());
  if (spec.node_annotations_size() > 0) object["nodeAnnotations"] = ToJson(spec.node_annotations());
  if (spec.node_taints_size() > 0) object["nodeTaints"] = Taints(spec.node_taints());
  const auto& image = spec.image();
  if (!image.kernel().empty() || !image.name().empty() || !image.release_train().empty()) {
    json& out = object["image"];
    PutText(out, "kernel", image.kernel());
    PutText(out, "name", image.name());
    PutText(out, "releaseTrain", image.release_train());
  }
  if (!spec.gpu().version().empty()) object["gpu"] = {{"version", spec.gpu().version()}};
  const std::string& strategy = spec.node_configuration_update_strategy().type();
  if (!strategy.empty() && strategy != "OnSpecUpdate")
    object["nodeConfigurationUpdateStrategy"] = {{"type", strategy}};
  PutOwnFields(object, spec);
  return object;
}

json PoolStatus(const lifecycle::v1::NodePool& pool) {
  const lifecycle::v1::NodePoolStatus& status = pool.status();
  json object = {{"conditions", Conditions(status.conditions())},
                 {"currentNodes", status.current_nodes()},
                 {"inProgress", status.in_progress()},
                 {"queuedNodes", status.queued_nodes()}};
  if (status.has_grantable_nodes()) {
    object["grantableNodes"] = status.grantable_nodes();
    PutText(object, "grantableNodesBoundBy", status.grantable_nodes_bound_by());
  }
  PutText(object, "nodeProfile", status.node_profile());
  if (status.has_pending_node_configuration()) {
    object["pendingNodeConfiguration"] = Configuration(status.pending_node_configuration(), false);
  }
  if (status.has_waiting_node_configuration()) {
    object["waitingNodeConfiguration"] = Configuration(status.waiting_node_configuration(), false);
  }
  for (const auto& revision : status.node_configuration_revisions()) {
    object["nodeConfigurationRevisions"].push_back(Configuration(revision, true));
  }
  if (pool.has_reconfiguration())
    object["reconfiguration"] = ReconfigurationOf(pool.reconfiguration());
  return object;
}

json NodeSpec(const lifecycle::v1::Node& node) {
  const auto& desired = node.desired();
  json spec = {{"cordoned", desired.cordoned()},
               {"drain", desired.drain()},
               {"nodeProfile", desired.node_profile()},
               {"phase", PhaseWord(desired.phase())},
               {"taints", Taints(desired.taints())}};
  PutTime(spec, "drainTime", desired.drain_time());
  PutTime(spec, "drainDeadline", desired.drain_deadline());
  if (desired.force_drain()) spec["forceDrain"] = true;
  PutTime(spec, "protectUntilTime", node.protect_until_time());
  PutText(spec, "reservedDesired", node.reserved_desired());
  return spec;
}

json NodeStatus(const lifecycle::v1::Node& node) {
  const auto& observed = node.observed();
  json status = {{"active", observed.active()},
                 {"activePods", Strings(observed.active_pods())},
                 {"autoscalerMarked", observed.autoscaler_marked()},
                 {"conditions", Conditions(node.conditions())},
                 {"nodeProfile", observed.node_profile()},
                 {"poolUid", node.pool_uid()},
                 {"state", NodeStateWord(node.state())}};
  PutTime(status, "activeTime", observed.active_time());
  PutTime(status, "stateTime", node.state_time());
  if (observed.active_pod_count() > observed.active_pods_size())
    status["activePodCount"] = observed.active_pod_count();
  PutText(status, "rack", node.rack());
  return status;
}

// Why a Node leaves or waits, and what is amiss with it; of most Nodes nothing.
void PutTroubles(json& status, const lifecycle::v1::Node& node) {
  const auto& observed = node.observed();
  PutText(status, "removalCause", RemovalCauseWord(node.removal_cause()));
  if (node.removal_requested()) status["removalRequested"] = true;
  PutTime(status, "preemptTime", node.preempt_time());
  PutTime(status, "replaceTime", node.replace_time());
  PutTime(status, "reconfigureTime", node.reconfigure_time());
  if (observed.unhealthy()) status["unhealthy"] = true;
  PutText(status, "healthMessage", observed.health_message());
  if (observed.unschedulable()) status["unschedulable"] = true;
  PutText(status, "drainBlockedBy", observed.drain_blocked_by());
  PutText(status, "stagingError", observed.staging_error());
  PutText(status, "removalError", observed.removal_error());
}

}  // namespace

json Object(const lifecycle::v1::NodePool& pool, const std::string& id) {
  json metadata = {{"generation", pool.generation()},
                   {"name", id},
                   {"resourceVersion", pool.etag()},
                   {"uid", pool.uid()}};
  PutTime(metadata, "creationTimestamp", pool.create_time());
  PutTime(metadata, "deletionTimestamp", pool.delete_time());
  return {{"apiVersion", "compute.coreweave.com/v1alpha1"},
          {"kind", "NodePool"},
          {"metadata", std::move(metadata)},
          {"spec", PoolSpec(pool.spec())},
          {"status", PoolStatus(pool)}};
}

json Object(const lifecycle::v1::Node& node, const std::string& id) {
  json object = Frame("Node", id);
  PutTime(object["metadata"], "creationTimestamp", node.create_time());
  object["metadata"]["resourceVersion"] = node.etag();
  object["metadata"]["labels"] = ToJson(node.desired().labels());
  object["metadata"]["annotations"] = ToJson(node.desired().annotations());
  object["spec"] = NodeSpec(node);
  object["status"] = NodeStatus(node);
  PutTroubles(object["status"], node);
  return object;
}

json Object(const lifecycle::v1::Event& event, const std::string& id) {
  json object = Frame("Event", id);
  object["object"] = event.object();
  object["poolUid"] = event.pool_uid();
  object["type"] = event.type();
  object["reason"] = event.reason();
  object["message"] = event.message();
  object["count"] = event.count();
  PutTime(object, "firstTime", event.first_time());
  PutTime(object, "lastTime", event.last_time());
  return object;
}

json Object(const lifecycle::v1::Cluster& cluster, const std::string& id) {
  json object = Frame("Cluster", id);
  if (const auto parts = MatchName("organizations/*/clusters/*", cluster.name())) {
    object["metadata"]["organization"] = parts->front();
  }
  object["metadata"]["resourceVersion"] = cluster.etag();
  PutTime(object["metadata"], "creationTimestamp", cluster.create_time());
  object["spec"]["zone"] = cluster.zone();
  PutText(object["spec"], "kubernetesVersion", cluster.kubernetes_version());
  if (!cluster.kubernetes_uid().empty())
    object["status"]["kubernetesUid"] = cluster.kubernetes_uid();
  if (!cluster.has_removal_allowance()) return object;
  const lifecycle::v1::RemovalAllowance& allowance = cluster.removal_allowance();
  json& shown = object["status"]["removalAllowance"];
  shown = {{"nodePools", allowance.node_pools()}, {"nodes", allowance.nodes()}};
  PutTime(shown, "createTime", allowance.create_time());
  PutTime(shown, "expireTime", allowance.expire_time());
  return object;
}

}  // namespace muster::musterctl
