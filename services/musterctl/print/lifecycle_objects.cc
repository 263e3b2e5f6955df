#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "services/common/kubernetes_names.h"
#include "services/common/resource_name.h"
#include "services/musterctl/print/object_parts.h"
#include "services/musterctl/print/words.h"

// Clusters, NodePools, Nodes and events as objects.
namespace muster::musterctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

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

// Fields that are shown also if they have their default value.
constexpr absl::string_view kAlways[] = {
    "NodePoolSpec.autoscaling",
    "NodePoolSpec.instance_type",
    "NodePoolSpec.max_nodes",
    "NodePoolSpec.min_nodes",
    "NodePoolSpec.target_nodes",
    "Lifecycle.disable_unhealthy_node_eviction",
    "Prefill.enabled",
    "Taint.key",
    "Taint.effect",
};

json Part(const Message& message);

json Scalar(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Part(reflection.GetMessage(message, &field));
    default:
      return reflection.GetString(message, &field);
  }
}

json Repeated(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  json map = json::object();
  json list = json::array();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (field.is_map()) {  // of strings
      const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      const auto& of = *entry.GetReflection();
      map[of.GetString(entry, field.message_type()->map_key())] =
          of.GetString(entry, field.message_type()->map_value());
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      list.push_back(Part(reflection.GetRepeatedMessage(message, &field, i)));
    } else {
      list.push_back(reflection.GetRepeatedString(message, &field, i));
    }
  }
  return field.is_map() ? map : list;
}

// By the descriptor: a field that the API gains is shown without a line here. What is not set, or
// as if it were not, is left out.
json Part(const Message& message) {
  const auto& reflection = *message.GetReflection();
  const auto& descriptor = *message.GetDescriptor();
  json object = json::object();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const std::string name = absl::StrCat(descriptor.name(), ".", field.name());
    if (field.is_repeated()) {
      if (reflection.FieldSize(message, &field) > 0)
        object[field.json_name()] = Repeated(message, field);
    } else if (reflection.HasField(message, &field) ||
               absl::c_linear_search(kAlways, absl::string_view(name))) {
      json value = Scalar(message, field);
      const bool is_empty_part =
          field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && value.empty();
      if (!is_empty_part) object[field.json_name()] = std::move(value);
    }
  }
  return object;
}

json PoolSpec(lifecycle::v1::NodePoolSpec spec) {
  lifecycle::v1::Lifecycle& life = *spec.mutable_lifecycle();
  if (life.scale_down_strategy().empty()) life.set_scale_down_strategy("IdleOnly");
  if (!life.has_disable_unhealthy_node_eviction()) life.set_disable_unhealthy_node_eviction(true);
  if (spec.compute_class() == "default") spec.clear_compute_class();
  if (spec.node_configuration_update_strategy().type() == "OnSpecUpdate")
    spec.clear_node_configuration_update_strategy();
  return Part(spec);
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

json Orders(const lifecycle::v1::NodeOrders& orders) {
  json told = json::object();
  PutTime(told, "cordonTime", orders.cordon_time());
  PutTime(told, "drainTime", orders.drain_time());
  if (orders.drain_forced()) told["drainForced"] = true;
  PutText(told, "reboot", RebootWord(orders.reboot()));
  PutTime(told, "rebootTime", orders.reboot_time());
  return told;
}

json NodeSpec(const lifecycle::v1::Node& node) {
  const auto& desired = node.desired();
  json spec = {{"cordoned", desired.cordoned()},
               {"drain", desired.drain()},
               {"nodeProfile", desired.node_profile()},
               {"phase", PhaseWord(desired.phase())},
               {"taints", Taints(desired.taints())}};
  PutTime(spec, "cordonTime", desired.cordon_time());
  PutTime(spec, "drainTime", desired.drain_time());
  PutTime(spec, "drainDeadline", desired.drain_deadline());
  if (desired.force_drain()) spec["forceDrain"] = true;
  PutTime(spec, "protectUntilTime", node.protect_until_time());
  PutText(spec, "reservedDesired", node.reserved_desired());
  if (node.has_orders()) spec["orders"] = Orders(node.orders());
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
  PutText(status, "bootId", observed.boot_id());
  return status;
}

// Why a Node leaves or waits, and what is amiss with it; of most Nodes nothing.
void PutTroubles(json& status, const lifecycle::v1::Node& node) {
  const auto& observed = node.observed();
  PutText(status, "removalCause", RemovalCauseWord(node.removal_cause()));
  if (node.removal_requested()) status["removalRequested"] = true;
  PutTime(status, "preemptTime", node.preempt_time());
  PutTime(status, node.has_asked_to_go_time() ? "askedToGoTime" : "replaceTime",
          node.replace_time());
  PutTime(status, "reconfigureTime", node.reconfigure_time());
  if (observed.unhealthy()) status["unhealthy"] = true;
  PutText(status, "healthMessage", observed.health_message());
  if (observed.unschedulable()) status["unschedulable"] = true;
  PutTime(status, "cordonTime", observed.cordon_time());
  PutTime(status, "cordonEffectiveTime", node.cordon_effective_time());
  PutText(status, "drainBlockedBy", observed.drain_blocked_by());
  PutText(status, "stagingError", observed.staging_error());
  PutText(status, "removalError", observed.removal_error());
}

}  // namespace

json Object(const lifecycle::v1::NodePool& pool, const std::string& id) {
  json metadata = {
      {"generation", pool.generation()},
      {"name", id},
      {"resourceVersion", pool.revision() == 0 ? pool.etag() : absl::StrCat(pool.revision())},
      {"uid", pool.uid()}};
  PutTime(metadata, "creationTimestamp", pool.create_time());
  PutTime(metadata, "deletionTimestamp", pool.delete_time());
  return {{"apiVersion", kNodePoolApiVersion},
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
