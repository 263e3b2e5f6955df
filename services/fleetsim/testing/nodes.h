#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/rpc/code.pb.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"

// For tests: Nodes, and what lifecycle does with reports about them, in few words.
namespace muster::fleetsim {

inline const absl::Time kStart = absl::FromUnixSeconds(1'750'000'000);
inline constexpr char kMachine[] = "g100000";  // of the Node with index 0

inline void SetTime(google::protobuf::Timestamp& out, absl::Time time) {
  out.set_seconds(absl::ToUnixSeconds(time));
  out.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(out.seconds()))));
}

inline void SetState(lifecycle::v1::Node& node, lifecycle::v1::Node::State state, absl::Time now) {
  node.set_state(state);
  SetTime(*node.mutable_state_time(), now);
  if (state != lifecycle::v1::Node::STATE_RECONFIGURING) return;
  node.mutable_observed()->clear_boot_time();
  SetTime(*node.mutable_desired()->mutable_phase_time(), now);
}

// A Node that was just assigned and is to run.
inline lifecycle::v1::Node NewNode(int index, absl::Time now) {
  lifecycle::v1::Node node;
  node.set_machine(absl::StrCat("g", 100000 + index));
  node.set_name(
      absl::StrCat("organizations/acme/clusters/example/nodePools/train/nodes/", node.machine()));
  SetTime(*node.mutable_create_time(), now);
  SetState(node, lifecycle::v1::Node::STATE_ASSIGNED, now);
  node.mutable_desired()->set_phase(lifecycle::v1::NodeDesired::PHASE_RUNNING);
  node.mutable_desired()->set_node_profile("np-0123456789ab");
  return node;
}

// In production since kStart, booted into what it should be.
inline lifecycle::v1::Node RunningNode(int index = 0) {
  lifecycle::v1::Node node = NewNode(index, kStart);
  SetState(node, lifecycle::v1::Node::STATE_PRODUCTION, kStart);
  node.mutable_observed()->set_node_profile(node.desired().node_profile());
  return node;
}

// Cordons it and, if it should drain, says so.
inline void Cordon(lifecycle::v1::Node& node, bool drain, absl::Time now) {
  node.mutable_desired()->set_cordoned(true);
  node.mutable_desired()->set_drain(drain);
  SetState(node, drain ? lifecycle::v1::Node::STATE_DRAINING : lifecycle::v1::Node::STATE_CORDONED,
           now);
}

inline bool SetActive(lifecycle::v1::Node& node, bool active, absl::Time now) {
  using Node = lifecycle::v1::Node;
  if (node.state() < Node::STATE_PRODUCTION || node.state() > Node::STATE_DRAINING) return false;
  if (node.observed().active() != active)
    SetTime(*node.mutable_observed()->mutable_active_time(), now);
  node.mutable_observed()->set_active(active);
  return true;
}

// Takes what a report says into the Node, all but its state. False: the report does not fit.
inline bool Note(lifecycle::v1::Node& node, const lifecycle::v1::NodeReport& report,
                 absl::Time now) {
  using Node = lifecycle::v1::Node;
  using lifecycle::v1::NodeReport;
  lifecycle::v1::NodeObserved& observed = *node.mutable_observed();
  const auto kind = report.observation();
  if (node.state() < Node::STATE_REGISTERED || node.state() > Node::STATE_PREPARED_FOR_TERMINATE)
    return false;
  if (kind == NodeReport::OBSERVATION_ACTIVE || kind == NodeReport::OBSERVATION_IDLE) {
    observed.set_active_pod_count(report.active_pod_count());
    return SetActive(node, kind == NodeReport::OBSERVATION_ACTIVE, now);
  }
  if (kind == NodeReport::OBSERVATION_DRAIN_BLOCKED ||
      kind == NodeReport::OBSERVATION_DRAIN_UNBLOCKED) {
    observed.set_drain_blocked_by(report.message());
    return node.desired().drain();
  }
  if (kind == NodeReport::OBSERVATION_REMOVAL_FAILED) {
    observed.set_removal_error(report.message());
    return node.state() == Node::STATE_PREPARED_FOR_TERMINATE;
  }
  if (kind == NodeReport::OBSERVATION_CORDONED) {
    SetTime(*observed.mutable_cordon_time(), now);
    return node.desired().cordoned();
  }
  if (kind == NodeReport::OBSERVATION_UNHEALTHY || kind == NodeReport::OBSERVATION_RECOVERED) {
    observed.set_unhealthy(kind == NodeReport::OBSERVATION_UNHEALTHY);
  } else if (kind == NodeReport::OBSERVATION_AUTOSCALER_MARKED ||
             kind == NodeReport::OBSERVATION_AUTOSCALER_UNMARKED) {
    observed.set_autoscaler_marked(kind == NodeReport::OBSERVATION_AUTOSCALER_MARKED);
  } else if (kind == NodeReport::OBSERVATION_UNSCHEDULABLE ||
             kind == NodeReport::OBSERVATION_SCHEDULABLE) {
    observed.set_unschedulable(kind == NodeReport::OBSERVATION_UNSCHEDULABLE);
  } else if (kind == NodeReport::OBSERVATION_STAGING_FAILED ||
             kind == NodeReport::OBSERVATION_STAGED) {
    observed.set_staging_error(report.message());
  } else if (kind == NodeReport::OBSERVATION_REGISTERED) {
    observed.set_node_profile(report.node_profile());
    observed.set_boot_id(report.boot_id());
    SetTime(*observed.mutable_boot_time(), now);
  } else {
    return false;
  }
  return true;
}

// Does to the Node what lifecycle does with a report; returns OK or FAILED_PRECONDITION.
inline google::rpc::Code ApplyReport(lifecycle::v1::Node& node,
                                     const lifecycle::v1::NodeReport& report, absl::Time now) {
  using Node = lifecycle::v1::Node;
  using lifecycle::v1::NodeReport;
  struct Edge {
    NodeReport::Observation observation;
    Node::State from;
    Node::State to;
  };
  static constexpr Edge kEdges[] = {
      {NodeReport::OBSERVATION_BOOT_STARTED, Node::STATE_ASSIGNED, Node::STATE_BOOTING},
      {NodeReport::OBSERVATION_BOOT_FAILED, Node::STATE_BOOTING, Node::STATE_DELIVERY_FAILED},
      {NodeReport::OBSERVATION_BOOT_FAILED, Node::STATE_RECONFIGURING, Node::STATE_DELIVERY_FAILED},
      {NodeReport::OBSERVATION_REGISTERED, Node::STATE_BOOTING, Node::STATE_REGISTERED},
      {NodeReport::OBSERVATION_READY, Node::STATE_REGISTERED, Node::STATE_PRODUCTION},
      {NodeReport::OBSERVATION_READY, Node::STATE_RECONFIGURING, Node::STATE_PRODUCTION},
      {NodeReport::OBSERVATION_UNHEALTHY, Node::STATE_PRODUCTION, Node::STATE_TRIAGE},
      {NodeReport::OBSERVATION_RECOVERED, Node::STATE_TRIAGE, Node::STATE_PRODUCTION},
      {NodeReport::OBSERVATION_DRAINED, Node::STATE_DRAINING, Node::STATE_PREPARED_FOR_TERMINATE},
      {NodeReport::OBSERVATION_TERMINATED, Node::STATE_PREPARED_FOR_TERMINATE,
       Node::STATE_DELETED}};
  const bool rebooted = node.state() != Node::STATE_RECONFIGURING ||
                        (node.observed().has_boot_time() &&
                         node.observed().node_profile() == node.desired().node_profile());
  if (report.observation() == NodeReport::OBSERVATION_READY && !rebooted)
    return google::rpc::FAILED_PRECONDITION;
  for (const Edge& edge : kEdges) {
    if (edge.observation != report.observation()) continue;
    if (edge.to == node.state()) return google::rpc::OK;
    if (edge.from != node.state()) continue;
    SetState(node, edge.to, now);
    if (edge.to == Node::STATE_PREPARED_FOR_TERMINATE)
      node.mutable_desired()->set_phase(lifecycle::v1::NodeDesired::PHASE_TERMINATED);
    Note(node, report, now);
    return google::rpc::OK;
  }
  return Note(node, report, now) ? google::rpc::OK : google::rpc::FAILED_PRECONDITION;
}

}  // namespace muster::fleetsim
