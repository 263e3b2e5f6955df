#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/node_metadata.h"
#include "services/kubernetes/core/objects.h"

// What tests see of a cluster and of Muster.
namespace muster::kubernetes {

// 2025-05-30T17:36:00Z, the time of the reference's example.
inline constexpr int64_t kThen = 1'748'626'560;
inline absl::Time Then() { return absl::FromUnixSeconds(kThen); }

inline google::protobuf::Timestamp Stamp(int64_t seconds, int32_t nanos = 0) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  time.set_nanos(nanos);
  return time;
}

inline lifecycle::v1::Condition MakeCondition(const std::string& type, const std::string& status,
                                              const std::string& reason,
                                              const std::string& message) {
  lifecycle::v1::Condition condition;
  condition.set_type(type);
  condition.set_status(status);
  condition.set_reason(reason);
  condition.set_message(message);
  condition.set_observed_generation(1);
  *condition.mutable_last_transition_time() = Stamp(kThen);
  return condition;
}

// A Node of Muster's in that state, with what Muster wants of such a one.
inline lifecycle::v1::Node MakeNode(lifecycle::v1::Node::State state) {
  using lifecycle::v1::Node;
  Node node;
  node.set_name("organizations/acme/clusters/c1/nodePools/a/nodes/g8fd930");
  node.set_machine("g8fd930");
  node.set_pool_uid("9311678d-4064-45b8-8439-b943250e5852");
  node.set_state(state);
  *node.mutable_create_time() = Stamp(kThen, 123'456'000);
  lifecycle::v1::NodeDesired& desired = *node.mutable_desired();
  const bool off = state == Node::STATE_PREPARED_FOR_TERMINATE || state == Node::STATE_DELETED ||
                   state == Node::STATE_DELIVERY_FAILED;
  desired.set_phase(off ? lifecycle::v1::NodeDesired::PHASE_TERMINATED
                        : lifecycle::v1::NodeDesired::PHASE_RUNNING);
  desired.set_node_profile("np-0123456789ab");
  desired.set_cordoned(state == Node::STATE_CORDONED || state == Node::STATE_DRAINING ||
                       state == Node::STATE_PREPARED_FOR_TERMINATE);
  desired.set_drain(state == Node::STATE_DRAINING);
  (*desired.mutable_labels())["compute.coreweave.com/node-pool"] = "a";
  (*desired.mutable_labels())["node.coreweave.cloud/state"] = "production";
  (*desired.mutable_annotations())["team.example/note"] = "ours";
  lifecycle::v1::Taint& taint = *desired.add_taints();
  taint.set_key("is_gpu");
  taint.set_value("true");
  taint.set_effect("PreferNoSchedule");
  *node.add_conditions() =
      MakeCondition("CWRegistered", "True", "Registered", "Node is registered.");
  *node.add_conditions() = MakeCondition("CWActive", "False", "Idle", "Node is idle.");
  *node.add_conditions() =
      MakeCondition("CWNodeRemoval", "False", "NotPendingRemoval", "Node is not pending removal.");
  return node;
}

// The v1 Node of that machine as a kubelet has just made it, ready or not.
inline Json MakeNodeJson(bool ready) {
  return Json::parse(R"({
    "apiVersion": "v1", "kind": "Node",
    "metadata": {
      "name": "g8fd930", "uid": "u-1", "resourceVersion": "100",
      "labels": {"kubernetes.io/hostname": "g8fd930", "kubernetes.io/os": "linux"},
      "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
      "managedFields": [
        {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
         "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/hostname": {},
                                                  "f:kubernetes.io/os": {}}}}},
        {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "subresource": "status",
         "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {"f:status": {}}}}}}
      ]},
    "spec": {"providerID": "muster://US-EAST-04A/g8fd930"},
    "status": {"conditions": [
      {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
      {"type": "Ready", "status": ")" +
                     std::string(ready ? "True" : "False") +
                     R"(", "reason": "KubeletNotReady", "message": "network is not ready"}]}})");
}

inline Json MakePodJson(const std::string& name, const Json& labels = Json::object()) {
  Json pod = Json::parse(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"namespace": "team", "resourceVersion": "7", "generateName": "job-",
                 "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "job",
                                      "controller": true, "blockOwnerDeletion": true}]},
    "spec": {"nodeName": "g8fd930", "containers": [{"name": "main", "image": "x"}]},
    "status": {"phase": "Running", "qosClass": "Guaranteed"}})");
  pod["metadata"]["name"] = name;
  pod["metadata"]["uid"] = "uid-of-" + name;
  pod["metadata"]["labels"] = labels;
  return pod;
}

inline PodObject MakePod(const std::string& name, PodObject::Class kind) {
  PodObject pod = ReadPod(MakePodJson(name));
  pod.kind = kind;
  return pod;
}

}  // namespace muster::kubernetes
