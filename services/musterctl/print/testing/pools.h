#pragma once

#include <string>

#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"

// For tests: the NodePool of the API reference's "Healthy Node Pools".
namespace muster::musterctl {

inline google::protobuf::Timestamp TimestampOf(absl::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) std::abort();
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  return timestamp;
}

inline lifecycle::v1::NodePool ReferencePool() {
  lifecycle::v1::NodePool pool;
  pool.set_name("organizations/acme/clusters/example/nodePools/example-nodepool");
  pool.set_uid("9311678d-4064-45b8-8439-b943250e5852");
  pool.set_generation(1);
  pool.set_etag("857370");
  *pool.mutable_create_time() = TimestampOf("2025-06-09T14:48:54Z");
  pool.mutable_spec()->set_instance_type("gd-8xa100-i128");
  pool.mutable_spec()->set_target_nodes(1);
  auto& status = *pool.mutable_status();
  status.set_current_nodes(1);
  status.set_node_profile("np-0123456789ab");
  auto& revision = *status.add_node_configuration_revisions();
  revision.set_node_profile("np-0123456789ab");
  revision.set_active_nodes(1);
  const auto add = [&](const char* type, const char* value, const char* reason,
                       const char* message) {
    auto& condition = *status.add_conditions();
    condition.set_type(type);
    condition.set_status(value);
    condition.set_reason(reason);
    condition.set_message(message);
    condition.set_observed_generation(1);
    *condition.mutable_last_transition_time() = TimestampOf("2025-05-30T17:36:00Z");
  };
  add("Validated", "True", "Valid", "NodePool configuration is valid.");
  add("Capacity", "True", "Sufficient",
      "Sufficient capacity available for the requested instance type.");
  add("Quota", "True", "Under", "NodePool is within instance type quota.");
  add("AtTarget", "True", "TargetMet", "NodePool has reached its target node count.");
  add("NodeReconfigurationRequired", "False", "AllNodesUpToDate",
      "All nodes are on the current configuration.");
  return pool;
}

inline lifecycle::v1::Event PoolEvent(const std::string& reason, int64_t count,
                                      absl::string_view first, absl::string_view last,
                                      const std::string& message) {
  lifecycle::v1::Event event;
  event.set_name("organizations/acme/clusters/example/events/" + reason);
  event.set_object(ReferencePool().name());
  event.set_pool_uid(ReferencePool().uid());
  event.set_type("Normal");
  event.set_reason(reason);
  event.set_message(message);
  event.set_count(count);
  *event.mutable_first_time() = TimestampOf(first);
  *event.mutable_last_time() = TimestampOf(last);
  return event;
}

}  // namespace muster::musterctl
