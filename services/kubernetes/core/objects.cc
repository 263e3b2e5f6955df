#include "services/kubernetes/core/objects.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/condition_names.h"
#include "services/kubernetes/core/names.h"

namespace muster::kubernetes {
namespace {

StringMap Strings(const Json& object) {
  StringMap map;
  if (!object.is_object()) return map;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) map[key] = value.get<std::string>();
  }
  return map;
}

std::string Get(const StringMap& map, absl::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? std::string() : found->second;
}

// The keys `f:x` of a managedFields tree, without their mark.
std::set<std::string> FieldsBelow(const Json& fields) {
  std::set<std::string> keys;
  if (!fields.is_object()) return keys;
  for (const auto& [key, value] : fields.items()) {
    if (absl::StartsWith(key, "f:")) keys.insert(key.substr(2));
  }
  return keys;
}

void ReadOwners(const Json& managed, NodeObject& node) {
  if (!managed.is_array()) return;
  for (const Json& entry : managed) {
    const Json& fields = MemberOf(entry, "fieldsV1");
    const bool ours = TextOf(MemberOf(entry, "manager")) == kFieldManager &&
                      TextOf(MemberOf(entry, "operation")) == "Apply";
    const bool sets = !MemberOf(fields, "f:spec", "f:unschedulable").is_null();
    if (!ours) {
      node.foreign_unschedulable |= sets && node.unschedulable;
      continue;
    }
    if (!TextOf(MemberOf(entry, "subresource")).empty()) continue;
    node.owns_unschedulable = sets;
    node.own_labels = FieldsBelow(MemberOf(fields, "f:metadata", "f:labels"));
    node.own_annotations = FieldsBelow(MemberOf(fields, "f:metadata", "f:annotations"));
  }
}

void ReadConditions(const Json& conditions, NodeObject& node) {
  if (!conditions.is_array()) return;
  for (const Json& condition : conditions) {
    const std::string type = TextOf(MemberOf(condition, "type"));
    if (type == "Ready") {
      node.ready = TextOf(MemberOf(condition, "status")) == condition_status::kTrue;
      node.not_ready_why = *node.ready ? ""
                                       : absl::StrCat(TextOf(MemberOf(condition, "reason")), ": ",
                                                      TextOf(MemberOf(condition, "message")));
      node.heartbeat_time = TimeOf(MemberOf(condition, "lastHeartbeatTime"));
    }
    if (absl::StartsWith(type, "CW")) node.conditions.push_back(condition);
  }
}

PodObject::Class ClassOf(const Json& object, const StringMap& labels) {
  const Json& owners = MemberOf(object, "metadata", "ownerReferences");
  const bool daemon =
      owners.is_array() && std::any_of(owners.begin(), owners.end(), [](auto& it) {
        return TextOf(MemberOf(it, "kind")) == "DaemonSet" && IsTrue(MemberOf(it, "controller"));
      });
  const StringMap annotations = Strings(MemberOf(object, "metadata", "annotations"));
  if (daemon || annotations.contains("kubernetes.io/config.mirror"))
    return PodObject::Class::kFixed;
  if (Get(labels, kInterruptableKey) == "true") return PodObject::Class::kInterruptable;
  if (Get(labels, kGracefulCloud) == "true" || Get(labels, kGracefulCom) == "true")
    return PodObject::Class::kGraceful;
  return PodObject::Class::kGuarded;
}

}  // namespace

bool NodePoolObject::HasFinalizer() const {
  return std::find(finalizers.begin(), finalizers.end(), kFinalizer) != finalizers.end();
}

std::string PodObject::key() const { return absl::StrCat(name_space, "/", name); }

NodePoolObject ReadNodePool(const Json& object) {
  const Json& metadata = MemberOf(object, "metadata");
  const StringMap annotations = Strings(MemberOf(metadata, "annotations"));
  NodePoolObject pool;
  pool.name = TextOf(MemberOf(metadata, "name"));
  pool.uid = TextOf(MemberOf(metadata, "uid"));
  pool.resource_version = TextOf(MemberOf(metadata, "resourceVersion"));
  pool.generation = NumberOf(MemberOf(metadata, "generation"));
  pool.deleting = !MemberOf(metadata, "deletionTimestamp").is_null();
  const Json& finalizers = MemberOf(metadata, "finalizers");
  if (finalizers.is_array()) {
    for (const Json& finalizer : finalizers) pool.finalizers.push_back(TextOf(finalizer));
  }
  const auto annotation = [&](const char* key) {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::nullopt : std::optional(found->second);
  };
  pool.promote = annotation(kPromoteAnnotation);
  pool.rollback = annotation(kRollbackAnnotation);
  pool.grantable = annotation(kGrantable);
  if (MemberOf(object, "spec").is_object()) pool.spec = object["spec"];
  if (MemberOf(object, "status").is_object()) pool.status = object["status"];
  return pool;
}

NodeObject ReadNode(const Json& object) {
  const Json& metadata = MemberOf(object, "metadata");
  NodeObject node;
  node.name = TextOf(MemberOf(metadata, "name"));
  node.uid = TextOf(MemberOf(metadata, "uid"));
  node.resource_version = TextOf(MemberOf(metadata, "resourceVersion"));
  node.provider_id = TextOf(MemberOf(object, "spec", "providerID"));
  node.labels = Strings(MemberOf(metadata, "labels"));
  node.annotations = Strings(MemberOf(metadata, "annotations"));
  node.unschedulable = IsTrue(MemberOf(object, "spec", "unschedulable"));
  node.deleting = !MemberOf(metadata, "deletionTimestamp").is_null();
  if (const Json& taints = MemberOf(object, "spec", "taints"); taints.is_array()) {
    for (const Json& taint : taints) {
      node.taints.push_back({TextOf(MemberOf(taint, "key")), TextOf(MemberOf(taint, "value")),
                             TextOf(MemberOf(taint, "effect")), taint});
    }
  }
  ReadOwners(MemberOf(metadata, "managedFields"), node);
  ReadConditions(MemberOf(object, "status", "conditions"), node);
  node.boot_id = TextOf(MemberOf(object, "status", "nodeInfo", "bootID"));
  return node;
}

PodObject ReadPod(const Json& object) {
  const Json& metadata = MemberOf(object, "metadata");
  const std::string phase = TextOf(MemberOf(object, "status", "phase"));
  PodObject pod;
  pod.name_space = TextOf(MemberOf(metadata, "namespace"));
  pod.name = TextOf(MemberOf(metadata, "name"));
  pod.uid = TextOf(MemberOf(metadata, "uid"));
  pod.resource_version = TextOf(MemberOf(metadata, "resourceVersion"));
  pod.node = TextOf(MemberOf(object, "spec", "nodeName"));
  pod.kind = ClassOf(object, Strings(MemberOf(metadata, "labels")));
  pod.deleting = !MemberOf(metadata, "deletionTimestamp").is_null();
  pod.deletion_time = TimeOf(MemberOf(metadata, "deletionTimestamp"));
  pod.finished = phase == "Succeeded" || phase == "Failed";
  return pod;
}

NamespaceObject ReadNamespace(const Json& object) {
  const Json& metadata = MemberOf(object, "metadata");
  return {.name = TextOf(MemberOf(metadata, "name")),
          .uid = TextOf(MemberOf(metadata, "uid")),
          .resource_version = TextOf(MemberOf(metadata, "resourceVersion")),
          .organization = Get(Strings(MemberOf(metadata, "labels")), kOrganizationLabel),
          .deleting = !MemberOf(metadata, "deletionTimestamp").is_null()};
}

std::string ProviderMachine(const NodeObject& node) {
  const size_t slash = node.provider_id.rfind('/');
  return slash == std::string::npos ? node.provider_id : node.provider_id.substr(slash + 1);
}

Json OptionsToDelete(const std::string& uid) {
  return {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", uid}}}};
}

}  // namespace muster::kubernetes
