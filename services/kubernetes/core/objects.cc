#include "services/kubernetes/core/objects.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/kubernetes/core/names.h"

namespace muster::kubernetes {
namespace {

// The member, or null.
const Json& At(const Json& object, const char* key) {
  static const Json& null = *new Json();
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

const Json& At(const Json& object, const char* first, const char* second) {
  return At(At(object, first), second);
}

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool IsTrue(const Json& value) { return value.is_boolean() && value.get<bool>(); }

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
    const Json& fields = At(entry, "fieldsV1");
    const bool ours =
        Text(At(entry, "manager")) == kFieldManager && Text(At(entry, "operation")) == "Apply";
    const bool sets = !At(fields, "f:spec", "f:unschedulable").is_null();
    if (!ours) {
      node.foreign_unschedulable |= sets && node.unschedulable;
      continue;
    }
    if (!Text(At(entry, "subresource")).empty()) continue;
    node.owns_unschedulable = sets;
    node.own_labels = FieldsBelow(At(fields, "f:metadata", "f:labels"));
    node.own_annotations = FieldsBelow(At(fields, "f:metadata", "f:annotations"));
  }
}

void ReadConditions(const Json& conditions, NodeObject& node) {
  if (!conditions.is_array()) return;
  for (const Json& condition : conditions) {
    const std::string type = Text(At(condition, "type"));
    if (type == "Ready") {
      node.ready = Text(At(condition, "status")) == "True";
      node.not_ready_why = *node.ready ? ""
                                       : absl::StrCat(Text(At(condition, "reason")), ": ",
                                                      Text(At(condition, "message")));
    }
    if (absl::StartsWith(type, "CW")) node.conditions.push_back(condition);
  }
}

PodObject::Class ClassOf(const Json& object, const StringMap& labels) {
  const Json& owners = At(object, "metadata", "ownerReferences");
  const bool daemon = owners.is_array() && std::any_of(owners.begin(), owners.end(), [](auto& it) {
                        return Text(At(it, "kind")) == "DaemonSet" && IsTrue(At(it, "controller"));
                      });
  const StringMap annotations = Strings(At(object, "metadata", "annotations"));
  if (daemon || annotations.contains("kubernetes.io/config.mirror"))
    return PodObject::Class::kFixed;
  if (Get(labels, kInterruptable) == "true") return PodObject::Class::kInterruptable;
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
  const Json& metadata = At(object, "metadata");
  const StringMap annotations = Strings(At(metadata, "annotations"));
  NodePoolObject pool;
  pool.name = Text(At(metadata, "name"));
  pool.uid = Text(At(metadata, "uid"));
  pool.resource_version = Text(At(metadata, "resourceVersion"));
  const Json& generation = At(metadata, "generation");
  pool.generation = generation.is_number_integer() ? generation.get<int64_t>() : 0;
  pool.deleting = !At(metadata, "deletionTimestamp").is_null();
  const Json& finalizers = At(metadata, "finalizers");
  if (finalizers.is_array()) {
    for (const Json& finalizer : finalizers) pool.finalizers.push_back(Text(finalizer));
  }
  const auto annotation = [&](const char* key) {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::nullopt : std::optional(found->second);
  };
  pool.promote = annotation(kPromote);
  pool.rollback = annotation(kRollback);
  pool.grantable = annotation(kGrantable);
  if (At(object, "spec").is_object()) pool.spec = object["spec"];
  if (At(object, "status").is_object()) pool.status = object["status"];
  return pool;
}

NodeObject ReadNode(const Json& object) {
  const Json& metadata = At(object, "metadata");
  NodeObject node;
  node.name = Text(At(metadata, "name"));
  node.uid = Text(At(metadata, "uid"));
  node.resource_version = Text(At(metadata, "resourceVersion"));
  node.provider_id = Text(At(object, "spec", "providerID"));
  node.labels = Strings(At(metadata, "labels"));
  node.annotations = Strings(At(metadata, "annotations"));
  node.unschedulable = IsTrue(At(object, "spec", "unschedulable"));
  node.deleting = !At(metadata, "deletionTimestamp").is_null();
  if (const Json& taints = At(object, "spec", "taints"); taints.is_array()) {
    for (const Json& taint : taints) {
      node.taints.push_back(
          {Text(At(taint, "key")), Text(At(taint, "value")), Text(At(taint, "effect")), taint});
    }
  }
  ReadOwners(At(metadata, "managedFields"), node);
  ReadConditions(At(object, "status", "conditions"), node);
  return node;
}

PodObject ReadPod(const Json& object) {
  const Json& metadata = At(object, "metadata");
  const std::string phase = Text(At(object, "status", "phase"));
  PodObject pod;
  pod.name_space = Text(At(metadata, "namespace"));
  pod.name = Text(At(metadata, "name"));
  pod.uid = Text(At(metadata, "uid"));
  pod.resource_version = Text(At(metadata, "resourceVersion"));
  pod.node = Text(At(object, "spec", "nodeName"));
  pod.kind = ClassOf(object, Strings(At(metadata, "labels")));
  pod.deleting = !At(metadata, "deletionTimestamp").is_null();
  pod.finished = phase == "Succeeded" || phase == "Failed";
  return pod;
}

NamespaceObject ReadNamespace(const Json& object) {
  const Json& metadata = At(object, "metadata");
  return {.name = Text(At(metadata, "name")),
          .resource_version = Text(At(metadata, "resourceVersion")),
          .organization = Get(Strings(At(metadata, "labels")), kOrganizationLabel),
          .deleting = !At(metadata, "deletionTimestamp").is_null()};
}

std::string ProviderMachine(const NodeObject& node) {
  const size_t slash = node.provider_id.rfind('/');
  return slash == std::string::npos ? node.provider_id : node.provider_id.substr(slash + 1);
}

bool IsLater(absl::string_view version, absl::string_view other) {
  uint64_t a = 0;
  uint64_t b = 0;
  if (!absl::SimpleAtoi(version, &a) || !absl::SimpleAtoi(other, &b)) return true;
  return a > b;
}

}  // namespace muster::kubernetes
